// 08 state in registers: a head's state never leaves the registers of the block's four warps.
// Change: 07.07 with S transposed. S^T is the accumulator of one product and, packed to bf16, the
//         factor of another, so no element moves between lanes.
// Why:    the state passed through shared memory three times per chunk. It was read as a factor,
//         read as accumulators, and written.
// Needs:  the same as 07.
// Costs:  32 registers per thread for the state's accumulators.
//         See README for measurements.
#include <cuda_runtime.h>

#include <cstdint>

#include "07_chunkwise/plain_product.hpp"
#include "common/core/registry.hpp"
#include "common/cuda/check.hpp"
#include "common/cuda/tensor_core.hpp"
#include "common/cuda/tiles/fragment.hpp"
#include "common/cuda/tiles/product.hpp"
#include "common/cuda/tiles/rows.hpp"
#include "common/cuda/tiles/swizzle.hpp"
#include "common/cuda/warp.hpp"

namespace chunkwise {
namespace {

namespace tiles = ladder::cuda::tiles;
using ladder::bfloat16;
using ladder::cuda::kWarpSize;
using FragmentA = tiles::FragmentA<bfloat16>;  // 16 x 16
using FragmentB = tiles::FragmentB<bfloat16>;  // 16 x 8

// Plain row-major tiles.
using Tile = tiles::Tile<bfloat16, kChannels, tiles::Layout::kStraight>;

// Two elements, neighbours in a row or in a column, as one register.
__device__ std::uint32_t side_by_side(const bfloat16* first) {
  return *reinterpret_cast<const std::uint32_t*>(first);
}
__device__ std::uint32_t below_each_other(const bfloat16* first) {
  return first->bits | static_cast<std::uint32_t>(first[kChannels].bits) << 16;
}

// 16 x 16 elements from (row, column) on, as an A or as two neighbouring B. Each name gives the
// tile's order, that is, whether its rows are m, n or k.
__device__ FragmentA load_a_mk(Tile tile, int row, int column, int lane) {
  FragmentA a = {};
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const tiles::Place mk = FragmentA::place(lane, i);
    a.x[i] = side_by_side(tile.at(row + mk.row, column + mk.column));
  }
  return a;
}
__device__ FragmentA load_a_km(Tile tile, int row, int column, int lane) {
  FragmentA a = {};
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const tiles::Place mk = FragmentA::place(lane, i);
    a.x[i] = below_each_other(tile.at(row + mk.column, column + mk.row));
  }
  return a;
}
__device__ void load_b_nk(FragmentB (&b)[2], Tile tile, int row, int column, int lane) {
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const tiles::Place kn = FragmentB::place(lane, i % 2);
    b[i / 2].x[i % 2] = side_by_side(tile.at(row + i / 2 * 8 + kn.column, column + kn.row));
  }
}
__device__ void load_b_kn(FragmentB (&b)[2], Tile tile, int row, int column, int lane) {
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const tiles::Place kn = FragmentB::place(lane, i % 2);
    b[i / 2].x[i % 2] = below_each_other(tile.at(row + kn.row, column + i / 2 * 8 + kn.column));
  }
}

// 16 x 16 accumulators, rounded to bf16, as a transposed factor. Rows m become columns n of two B.
__device__ void as_factor(FragmentB (&b)[2], const tiles::Accumulator (&sum)[2]) {
#pragma unroll
  for (int n = 0; n < 2; ++n) {
    // TODO(1): roughly 3 lines; fill b[n], the factor's columns 8 n to 8 n + 7; budget: no access
    // TODO(1): to memory.
  }
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
    linear_attention_state_in_registers(const ladder::LinearAttentionBf16Args args) {
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
      as_factor(of_state[i], state[i]);
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
      // TODO(2): roughly 5 lines; add block c of V^T K to state[c]; budget: no load of a fragment
      // TODO(2): of V.
    }
    __syncthreads();  // all threads have finished this chunk, so its buffer is free
  }
}

void linear_attention(const ladder::LinearAttentionBf16Args& args) {
  require_plain_product(args);
  if (args.B == 0 || args.T_q == 0) return;
  const dim3 grid(static_cast<unsigned>(args.H), static_cast<unsigned>(args.B));
  linear_attention_state_in_registers<<<grid, kThreads>>>(args);
  CUDA_CHECK(cudaGetLastError());
}

const ladder::Registration registration{
    {.name = "linear_attention_state_in_registers",
     .device = ladder::DeviceKind::kCuda,
     .bf16_arithmetic = ladder::Arithmetic::kBf16Operands,
     .units = ladder::Units::kTensorCores,
     .launchers = ladder::launchers<ladder::LinearAttention>(linear_attention)}};

}  // namespace
}  // namespace chunkwise
