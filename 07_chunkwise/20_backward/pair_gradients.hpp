// Gradients of queries and keys: of the pairs within a block of 16 steps, and of those between blocks.
#pragma once

#include <cuda_runtime.h>

#include "07_chunkwise/20_backward/chunk_steps.hpp"
#include "07_chunkwise/20_backward/chunk_tiles.hpp"
#include "07_chunkwise/20_backward/decay_gradients.hpp"
#include "07_chunkwise/20_backward/decay_tree.hpp"
#include "07_chunkwise/20_backward/gradient_blocks.hpp"
#include "07_chunkwise/20_backward/pairs.hpp"
#include "07_chunkwise/20_backward/register_blocks.hpp"
#include "common/cuda/storage.hpp"

namespace chunkwise::backward {

// Both orders of a pair. On the diagonal there are no pairs, only what the bonus needs.
template <typename Element>
__device__ __forceinline__ void put_both_orders(SquareTile<Element> tile, const Sum& sum, int p,
                                                int s, int lane) {
  if (p != s) {
    put(tile, p, s, sum, lane);
    put_transposed(tile, s, p, sum, lane);
    return;
  }
  for_each([&](int j, int y) {
    const int step_p = p + lane / 4 + y / 2 * 8, step_s = s + lane % 4 * 2 + j * 8 + y % 2;
    if (step_p < step_s) return;
    const float value = step_p > step_s ? sum.d[j][y] : 0.0f;
    ladder::cuda::store(tile.at(step_p, step_s), value);
    ladder::cuda::store(tile.at(step_s, step_p), value);
  });
}

template <bool kRests, typename Element, typename LogW>
__device__ __forceinline__ void put_pairs(ChunkTiles<kRests, Element, LogW>& tiles_smem,
                                          const Part& part, float scale,
                                          Sum (&pairs)[kPairsPerWarp]) {
  const SquareTile<Element> pairs_smem{tiles_smem.pairs}, rest_smem{tiles_smem.left};
#pragma unroll
  for (int x = 0; x < kPairsPerWarp; ++x) {
    const int pair = part.warp + x * kWarps;
    if (pair >= kPairs) continue;
    const int p = later_block(pair) * kBlock, s = earlier_block(pair) * kBlock;
    for_each([&](int j, int y) {
      pairs[x].d[j][y] *= scale;
      const int step_p = p + part.lane / 4 + y / 2 * 8,
                step_s = s + part.lane % 4 * 2 + j * 8 + y % 2;
      if (step_p == step_s) tiles_smem.own[step_p] = pairs[x].d[j][y];
    });
    put_both_orders(pairs_smem, pairs[x], p, s, part.lane);
    if constexpr (kWithRest<Element, LogW>)
      put_both_orders(rest_smem, rounding_of(pairs[x]), p, s, part.lane);
  }
}

// Level by level: rows times pairs are gradients of the queries and of the keys at once. A product of a row with its gradient
// belongs to every decay between the row and the other half.
template <bool kGla, bool kRests, typename Element, typename LogW>
__device__ __forceinline__ void add_gradients_within_block(
    ChunkTiles<kRests, Element, LogW>& tiles_smem, const Part& part, int column, const Sum& q,
    const Sum& k, const Sum& w, Decays& decays, Sum& dq, Sum& dk, Sum& d_log_w) {
  const SquareTile<Element> pairs_smem{tiles_smem.pairs}, rest_smem{tiles_smem.left};
  const auto own_pairs = load_right(pairs_smem, column, column, part.lane);
#pragma unroll
  for (int level = 0; level < kBlockLevels; ++level) {
    const Sum rows_reg = rows_at(level, q, k, decays, part.lane);
    Sum gradient = {};
    const auto rows_factor = as_factor<Element>(rows_reg);
    multiply_add(gradient, rows_factor, meeting(own_pairs, level, part.lane));
    if constexpr (kWithRest<Element, LogW>)
      multiply_add(gradient, rows_factor,
                   meeting(load_right(rest_smem, column, column, part.lane), level, part.lane));
    if (kGla || level > 0)
      add_to_d_log_w(tiles_smem, part, d_log_w, times(rows_reg, gradient), level);
    for_each([&](int j, int y) {
      if (is_query(level, j, y % 2, part.lane)) {
        dq.d[j][y] += gradient.d[j][y] * decays.before.d[j][y];
      } else {
        dk.d[j][y] += gradient.d[j][y] * decays.after.d[j][y];
      }
    });
    climb(decays, w, level, part.lane);
  }
}

// gradient += rows times the pairs of the block's steps with the block of steps `other`.
template <bool kRests, typename Element, typename LogW>
__device__ __forceinline__ void add_wide(ChunkTiles<kRests, Element, LogW>& tiles_smem,
                                         const Part& part, int column, Sum& gradient,
                                         const Factor<Element>& rows_reg, int other) {
  const SquareTile<Element> pairs_smem{tiles_smem.pairs}, rest_smem{tiles_smem.left};
  multiply_add(gradient, rows_reg, load_right(pairs_smem, column, other, part.lane));
  if constexpr (kWithRest<Element, LogW>)
    multiply_add(gradient, rows_reg, load_right(rest_smem, column, other, part.lane));
}

// What a step has from itself, by the bonus; dq and dk are complete.
template <bool kRests, typename Element, typename LogW>
__device__ __forceinline__ void put_gradients(ChunkTiles<kRests, Element, LogW>& tiles_smem,
                                              const Part& part, const float (&u)[2], int column,
                                              const Sum& q, const Sum& k, const Sum& wide_dq,
                                              const Sum& wide_dk, Sum& dq, Sum& dk,
                                              float (&du)[2]) {
  const SquareTile<Element> dq_smem{tiles_smem.out[0]}, dk_smem{tiles_smem.out[1]};
  Sum q_k_own;
  for_each([&](int j, int y) {
    const float own = tiles_smem.own[column + part.lane % 4 * 2 + j * 8 + y % 2];
    dq.d[j][y] += wide_dq.d[j][y] + u[y / 2] * k.d[j][y] * own;
    dk.d[j][y] += wide_dk.d[j][y] + u[y / 2] * q.d[j][y] * own;
    q_k_own.d[j][y] = q.d[j][y] * k.d[j][y] * own;
  });
  put_transposed(dq_smem, column, part.row, dq, part.lane);
  put_transposed(dk_smem, column, part.row, dk, part.lane);
  sum_over_steps(du, q_k_own);
}

// Sums over the block's steps.
template <bool kRests, typename Element, typename LogW>
__device__ __forceinline__ void put_sums(ChunkTiles<kRests, Element, LogW>& tiles_smem,
                                         const Part& part, const int (&ik)[2], int block,
                                         const float (&from_before)[2],
                                         const float (&from_after)[2], const float (&from_half)[2],
                                         const float (&du)[2]) {
  ChannelSums& sums_smem = tiles_smem.sums;
  if (part.lane % 4 == 0) {
    for (int i = 0; i < 2; ++i) {
      sums_smem.from_before[block][ik[i]] = from_before[i];
      sums_smem.from_after[block][ik[i]] = from_after[i];
      sums_smem.from_half[block][ik[i]] = from_half[i];
      sums_smem.du[block][ik[i]] = du[i];
    }
  }
}

}  // namespace chunkwise::backward
