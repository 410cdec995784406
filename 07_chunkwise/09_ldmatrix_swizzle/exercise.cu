// 09 ldmatrix and swizzle: one instruction loads a fragment, from tiles without bank conflicts.
// Change: 07.08 with swizzled tiles. Each of its four loads is one ldmatrix, plain or transposed,
//         with row addresses in one of two orders.
// Why:    a fragment needed four or eight loads of eight or four wavefronts each. Now one load of
//         four wavefronts is enough.
// Needs:  the same as 07.
// Costs:  the block still waits for every chunk, because no product runs while it is loaded.
//         See README for measurements.
#include <cuda_runtime.h>

#include <cstdint>

#include "07_chunkwise/plain_product.hpp"
#include "common/core/registry.hpp"
#include "common/cuda/check.hpp"
#include "common/cuda/tensor_core.hpp"
#include "common/cuda/tiles/fragment.hpp"
#include "common/cuda/tiles/load.hpp"
#include "common/cuda/tiles/product.hpp"
#include "common/cuda/tiles/rows.hpp"
#include "common/cuda/tiles/swizzle.hpp"
#include "common/cuda/warp.hpp"

namespace chunkwise {
namespace {

namespace tiles = ladder::cuda::tiles;
using ladder::bfloat16;
using ladder::cuda::kWarpSize;
using tiles::load_a_mk;
using tiles::load_b_kn;
using FragmentA = tiles::FragmentA<bfloat16>;  // 16 x 16
using FragmentB = tiles::FragmentB<bfloat16>;  // 16 x 8

// Rows of 128 bytes, swizzled in 16-byte vectors.
using Tile = tiles::Tile<bfloat16, kChannels>;

// Besides load_a_mk and load_b_kn, the same for operands in the transposed order.
__device__ FragmentA load_a_km(Tile tile, int row, int column, int lane) {
  FragmentA a = {};
  // TODO(1): roughly 2 lines; load a from a tile with rows k; budget: one load of four matrices, no
  // TODO(1): bank conflict.
  return a;
}
__device__ void load_b_nk(FragmentB (&b)[2], Tile tile, int row, int column, int lane) {
  std::uint32_t x[4] = {};
  // TODO(2): roughly 2 lines; load x, the registers of two B, from a tile with rows n; budget: one
  // TODO(2): load of four matrices, no bank conflict.
  b[0] = {{x[0], x[1]}}, b[1] = {{x[2], x[3]}};
}

// Query l sees key s if s <= l.
__device__ void mask(tiles::Accumulator (&scores)[2], int lane) {
#pragma unroll
  for (int i = 0; i < 8; ++i) {
    const auto [l, s] = tiles::accumulator_place(lane, i % 4);
    if (i / 4 * 8 + s > l) scores[i / 4][i % 4] = 0.0f;
  }
}

// visit(two, row, column) for a lane's pairs of 16 x 16 accumulators, two[0] and to its right
// two[1].
template <typename Visit>
__device__ void for_pairs(tiles::Accumulator (&sum)[2], int lane, Visit visit) {
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const tiles::Place mn = tiles::accumulator_place(lane, i % 2 * 2);
    visit(&sum[i / 2][i % 2 * 2], mn.row, i / 2 * 8 + mn.column);
  }
}

__global__ void __launch_bounds__(kThreads)
    linear_attention_ldmatrix_swizzle(const ladder::LinearAttentionBf16Args args) {
  __shared__ alignas(128) bfloat16 smem[4 * kSize];
  const Tile q{smem}, k{smem + kSize}, v{smem + 2 * kSize};  // (token, channel)
  const Tile scores{smem + 3 * kSize};                       // (query, key)
  const int lane = threadIdx.x % kWarpSize, warp = threadIdx.x / kWarpSize;
  const std::int64_t h = blockIdx.x, b = blockIdx.y, stride = args.H * kChannels;
  // This warp's first of 16 rows of the scores, and of 16 columns of v, o and the state.
  const int mine = warp * kBlock;

  const auto first_of = [&](std::int64_t t) { return (b * args.T_q + t) * stride + h * kChannels; };
  const auto rows_of = [&](std::int64_t t) {
    return static_cast<int>(min(args.T_q - t, std::int64_t{kChunk}));
  };
  // Loads the chunk from token t on, with zeros past the last token.
  const auto fetch = [&](std::int64_t t) {
    const auto copy = [&](Tile tile, const bfloat16* x) {
      tiles::copy_rows<kChunk, kThreads>(tile, x + first_of(t), stride, rows_of(t), kChannels, true,
                                         threadIdx.x);
    };
    copy(q, args.q), copy(k, args.k), copy(v, args.v);
  };

  // S^T: this warp's 16 columns of S as rows. state[c] holds channels 16 c to 16 c + 15.
  tiles::Accumulator state[kBlocks][2] = {};
  for (std::int64_t t = 0; t < args.T_q; t += kChunk) {
    fetch(t);
    __syncthreads();  // the chunk is in shared memory

    // Q K^T for this warp's queries and the keys up to them.
    FragmentA of_q[kBlocks];
#pragma unroll
    for (int c = 0; c < kBlocks; ++c)
      of_q[c] = load_a_mk(q, mine, c * kBlock, lane);
    for (int s = 0; s <= mine; s += kBlock) {
      tiles::Accumulator sum[2] = {};
      FragmentB of_k[2];
#pragma unroll
      for (int c = 0; c < kBlocks; ++c) {
        load_b_nk(of_k, k, s, c * kBlock, lane);
        tiles::multiply(sum, of_q[c], of_k);
      }
      if (s == mine) mask(sum, lane);
      for_pairs(sum, lane, [&](const float* two, int row, int column) {
        *reinterpret_cast<std::uint32_t*>(scores.at(mine + row, s + column)) =
            ladder::cuda::pack_bf16(two[0], two[1]);
      });
    }
    __syncthreads();  // all scores are in shared memory

    // Q S + scores V for this warp's columns and all queries.
    FragmentB of_state[kBlocks][2], factor[2];
    FragmentA of_v[kBlocks];  // V^T, which as a B is V
#pragma unroll
    for (int i = 0; i < kBlocks; ++i) {
      tiles::as_b(of_state[i], tiles::as_a<bfloat16>(state[i][0], state[i][1]));
      of_v[i] = load_a_km(v, i * kBlock, mine, lane);
    }
#pragma unroll
    for (int l = 0; l < kBlocks; ++l) {
      tiles::Accumulator sum[2] = {};
#pragma unroll
      for (int c = 0; c < kBlocks; ++c)
        tiles::multiply(sum, load_a_mk(q, l * kBlock, c * kBlock, lane), of_state[c]);
#pragma unroll
      for (int s = 0; s <= l; ++s) {
        tiles::as_b(factor, of_v[s]);
        tiles::multiply(sum, load_a_mk(scores, l * kBlock, s * kBlock, lane), factor);
      }
      for_pairs(sum, lane, [&](const float* two, int row, int column) {
        if (l * kBlock + row >= rows_of(t)) return;
        bfloat16* const o = args.o + first_of(t) + (l * kBlock + row) * stride + mine + column;
        *reinterpret_cast<std::uint32_t*>(o) = ladder::cuda::pack_bf16(two[0], two[1]);
      });
    }

    // S^T += V^T K
#pragma unroll
    for (int c = 0; c < kBlocks; ++c) {
#pragma unroll
      for (int s = 0; s < kBlocks; ++s) {
        load_b_kn(factor, k, s * kBlock, c * kBlock, lane);
        tiles::multiply(state[c], of_v[s], factor);
      }
    }
    __syncthreads();  // all threads have finished this chunk, so its buffer is free
  }
}

void linear_attention(const ladder::LinearAttentionBf16Args& args) {
  require_plain_product(args);
  if (args.B == 0 || args.T_q == 0) return;
  const dim3 grid(static_cast<unsigned>(args.H), static_cast<unsigned>(args.B));
  linear_attention_ldmatrix_swizzle<<<grid, kThreads>>>(args);
  CUDA_CHECK(cudaGetLastError());
}

const ladder::Registration registration{
    {.name = "linear_attention_ldmatrix_swizzle",
     .device = ladder::DeviceKind::kCuda,
     .bf16_arithmetic = ladder::Arithmetic::kBf16Operands,
     .units = ladder::Units::kTensorCores,
     .launchers = ladder::launchers<ladder::LinearAttention>(linear_attention)}};

}  // namespace
}  // namespace chunkwise
