// Products of a tile of V, with the state before the chunk, S, and with its gradient after it, D.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "07_chunkwise/gradient_blocks.hpp"
#include "07_chunkwise/gradient_chunk.hpp"
#include "common/operators/wkv/wkv.hpp"

namespace chunkwise::backward {

// d_o_p . v_s for the warp's pairs.
template <typename Tiles>
__device__ __forceinline__ void add_d_scores(Tiles& tiles_smem, const Part& part,
                                             Sum (&d_scores)[kPairsPerWarp]) {
  const auto v_smem = square(tiles_smem.stage[kValues]),
             d_o_smem = square(tiles_smem.stage[kOutputGradients]);
#pragma unroll
  for (int x = 0; x < kPairsPerWarp; ++x) {
    const int pair = part.warp + x * kWarps;
    if (pair >= kPairs) continue;
    const int p = later_block(pair) * kBlock, s = earlier_block(pair) * kBlock;
#pragma unroll
    for (int n = 0; n < kBlocks; ++n)
      multiply_add(d_scores[x], load(d_o_smem, p, n * kBlock, part.lane),
                   load_right(v_smem, s, n * kBlock, part.lane));
  }
}

// S times d_o and D times v, for the warp's blocks of steps, and S times D transposed, of which
// only the diagonal is used.
template <typename Tiles>
__device__ __forceinline__ void add_products_of_states(Tiles& tiles_smem, const Part& part,
                                                       Sum (&from_state)[kBlocksPerWarp],
                                                       Sum (&from_adjoint)[kBlocksPerWarp],
                                                       Sum& overlap) {
  const auto v_smem = square(tiles_smem.stage[kValues]),
             d_o_smem = square(tiles_smem.stage[kOutputGradients]);
  const auto state_smem = square(tiles_smem.stage[kState]),
             adjoint_smem = square(tiles_smem.stage[kAdjoint]);
  // Read only if kRests stores them.
  const auto state_rest_smem = square(tiles_smem.stage[Tiles::kRests ? kStateRest : kState]);
  const auto adjoint_rest_smem = square(tiles_smem.stage[Tiles::kRests ? kAdjointRest : kAdjoint]);
#pragma unroll
  for (int n = 0; n < kBlocks; ++n) {
    const auto state = load(state_smem, part.row, n * kBlock, part.lane);
    const auto adjoint = load(adjoint_smem, part.row, n * kBlock, part.lane);
    if (!part.late) multiply_add(overlap, state, adjoint);
#pragma unroll
    for (int x = 0; x < kBlocksPerWarp; ++x) {
      multiply_add(from_state[x], state,
                   load_right(d_o_smem, part.block_of(x) * kBlock, n * kBlock, part.lane));
      multiply_add(from_adjoint[x], adjoint,
                   load_right(v_smem, part.block_of(x) * kBlock, n * kBlock, part.lane));
    }
    if constexpr (Tiles::kRests) {
      const auto state_rest = load(state_rest_smem, part.row, n * kBlock, part.lane);
      const auto adjoint_rest = load(adjoint_rest_smem, part.row, n * kBlock, part.lane);
      if (!part.late) {
        multiply_add(overlap, state, adjoint_rest);
        multiply_add(overlap, state_rest, adjoint);
      }
#pragma unroll
      for (int x = 0; x < kBlocksPerWarp; ++x) {
        multiply_add(from_state[x], state_rest,
                     load_right(d_o_smem, part.block_of(x) * kBlock, n * kBlock, part.lane));
        multiply_add(from_adjoint[x], adjoint_rest,
                     load_right(v_smem, part.block_of(x) * kBlock, n * kBlock, part.lane));
      }
    }
  }
}

// dv of a block of steps, two blocks of columns. It is D times the decayed keys, plus the scores
// times d_o.
constexpr int kColumnBlocks = 2;
template <typename Tiles>
__device__ __forceinline__ void add_dv(Tiles& tiles_smem, int s, int first_column, int lane,
                                       Sum (&dv)[kColumnBlocks]) {
  const auto left_smem = square(tiles_smem.left), scores_smem = square(tiles_smem.scores);
  const auto d_o_smem = square(tiles_smem.stage[kOutputGradients]),
             adjoint_smem = square(tiles_smem.stage[kAdjoint]);
#pragma unroll
  for (int n = 0; n < kBlocks; ++n) {
    const auto left_reg = load_transposed(left_smem, n * kBlock, s * kBlock, lane);
#pragma unroll
    for (int x = 0; x < kColumnBlocks; ++x)
      multiply_add(
          dv[x], left_reg,
          load_right_transposed(adjoint_smem, n * kBlock, first_column + x * kBlock, lane));
  }
  for (int p = s; p < kBlocks; ++p) {
    const auto scores = load(scores_smem, s * kBlock, p * kBlock, lane);
#pragma unroll
    for (int x = 0; x < kColumnBlocks; ++x)
      multiply_add(dv[x], scores,
                   load_right_transposed(d_o_smem, p * kBlock, first_column + x * kBlock, lane));
  }
}

// Stores dv. If K has several tiles, each has a part of dv, and sum_parts() adds them.
template <bool kAligned, typename Element, typename LogW>
__device__ __forceinline__ void store_dv(const BasicWkvGradArgs<Element, LogW>& args,
                                         const Work<Element>& work, const Place& place, int step,
                                         int iv, const Sum& dv, int lane) {
  const BasicWkvArgs<Element, LogW>& forward = args.forward;
  const int T = place.T, V = place.V;
  const auto store_to = [&](auto* array) {
    const Steps to(array, forward, place.b, place.h, V, iv);
    store(dv, to.at(step), to.stride, T - step, to.columns, kAligned, lane);
  };
  if (work.dv_parts == nullptr) {
    store_to(args.dv);
  } else {
    store_to(work.dv_parts + place.tile_K * forward.B * T * forward.H * V);
  }
}

// dv of a tile of V. Two warps share a block of steps.
template <bool kAligned, bool kRests, typename Element, typename LogW>
__device__ __forceinline__ void make_dv(ChunkTiles<kRests, Element, LogW>& tiles_smem,
                                        const BasicWkvGradArgs<Element, LogW>& args,
                                        const Work<Element>& work, const Place& place,
                                        const Part& part, int tile_V) {
  const int s = part.warp / 2, first_column = part.warp % 2 * kColumnBlocks * kBlock;
  Sum dv[kColumnBlocks] = {};
  add_dv(tiles_smem, s, first_column, part.lane, dv);
#pragma unroll
  for (int x = 0; x < kColumnBlocks; ++x)
    store_dv<kAligned>(args, work, place, place.first + s * kBlock,
                       tile_V * kSide + first_column + x * kBlock, dv[x], part.lane);
}

// The product of S and D through the whole chunk, from the diagonal of S times D transposed.
template <typename Tiles>
__device__ __forceinline__ void put_overlap(Tiles& tiles_smem, const Part& part, const int (&ik)[2],
                                            const Sum& overlap) {
  if (!part.late && part.lane % 4 == part.lane / 8) {
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      const float diagonal = part.lane / 4 % 2 == 0 ? overlap.d[i][2 * i] : overlap.d[i][2 * i + 1];
      tiles_smem.overlap[ik[i]] = diagonal * tiles_smem.before[0][ik[i]] *
                                  tiles_smem.total[0][ik[i]] * tiles_smem.after[0][ik[i]];
    }
  }
}

// Moves a second block's sums out of the registers while the first one needs them.
template <typename Tiles>
__device__ __forceinline__ void park(Tiles& tiles_smem, int tid, const Sum& from_state,
                                     const Sum& from_adjoint) {
  for_each([&](int j, int y) {
    tiles_smem.parked[0][j][y][tid] = from_state.d[j][y];
    tiles_smem.parked[1][j][y][tid] = from_adjoint.d[j][y];
  });
}

template <typename Tiles>
__device__ __forceinline__ void unpark(const Tiles& tiles_smem, int tid, Sum& from_state,
                                       Sum& from_adjoint) {
  for_each([&](int j, int y) {
    from_state.d[j][y] = tiles_smem.parked[0][j][y][tid];
    from_adjoint.d[j][y] = tiles_smem.parked[1][j][y][tid];
  });
}

}  // namespace chunkwise::backward
