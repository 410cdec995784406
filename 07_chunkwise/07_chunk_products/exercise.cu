// 07 chunk products: linear attention in bf16, the loops of a chunk as products on tensor cores.
// Change: rewrite. 07.02's loop with chunks of 64 tokens. A warp multiplies blocks of 16 x 16, with
//         fragments loaded from shared memory.
// Why:    a lane's FMA loaded two numbers from shared memory, but one instruction of a warp does
//         2,048 FMAs.
// Needs:  K = V = 64, bf16, the causal product without feature map or normaliser, rows at multiples
//         of 16 bytes, sm_80.
// Costs:  fragments are loaded two or four bytes at a time, with bank conflicts. The state is read
//         twice and written once per chunk. A NaN in v_s reaches its column of o in all of its 16
//         tokens, also the earlier ones, because 0 times NaN is NaN. See README for what was
//         measured.
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
using State = tiles::Tile<float, kChannels, tiles::Layout::kStraight>;

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
    // TODO(1): roughly 2 lines; load a.x[i], where m is a column of the tile and k a row; budget:
    // TODO(1): two loads from shared memory.
  }
  return a;
}
__device__ void load_b_nk(FragmentB (&b)[2], Tile tile, int row, int column, int lane) {
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    // TODO(2): roughly 2 lines; load b[i / 2].x[i % 2], where n is a row of the tile and k a
    // TODO(2): column; budget: one load from shared memory.
  }
}
__device__ void load_b_kn(FragmentB (&b)[2], Tile tile, int row, int column, int lane) {
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const tiles::Place kn = FragmentB::place(lane, i % 2);
    b[i / 2].x[i % 2] = below_each_other(tile.at(row + kn.row, column + i / 2 * 8 + kn.column));
  }
}

// The same for the state, rounded to bf16.
__device__ void load_b_kn(FragmentB (&b)[2], State tile, int row, int column, int lane) {
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const tiles::Place kn = FragmentB::place(lane, i % 2);
    const float* const first = tile.at(row + kn.row, column + i / 2 * 8 + kn.column);
    b[i / 2].x[i % 2] = ladder::cuda::pack_bf16(first[0], first[kChannels]);
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
    linear_attention_chunk_products(const ladder::LinearAttentionBf16Args args) {
  __shared__ alignas(128) bfloat16 smem[4 * kSize];
  __shared__ alignas(128) float state_smem[kSize];
  const Tile q{smem}, k{smem + kSize}, v{smem + 2 * kSize};  // (token, channel)
  const Tile scores{smem + 3 * kSize};                       // (query, key)
  const State state{state_smem};                             // (K, V)
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

  for (int i = threadIdx.x; i < kSize; i += kThreads)
    state_smem[i] = 0.0f;

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
    FragmentB of_state[kBlocks][2], of_v[kBlocks][2];
#pragma unroll
    for (int i = 0; i < kBlocks; ++i) {
      load_b_kn(of_state[i], state, i * kBlock, mine, lane);
      load_b_kn(of_v[i], v, i * kBlock, mine, lane);
    }
#pragma unroll
    for (int l = 0; l < kBlocks; ++l) {
      tiles::Accumulator sum[2] = {};
      // TODO(3): roughly 6 lines; add Q S and scores V of block l to sum; budget: no load of a
      // TODO(3): fragment of S or of V.
      for_pairs(sum, lane, [&](const float* two, int row, int column) {
        if (l * kBlock + row >= rows_of(t)) return;
        bfloat16* const o = args.o + first_of(t) + (l * kBlock + row) * stride + mine + column;
        *reinterpret_cast<std::uint32_t*>(o) = ladder::cuda::pack_bf16(two[0], two[1]);
      });
    }
    __syncwarp();  // all lanes have read this warp's old columns of the state

    // S += K^T V
#pragma unroll
    for (int c = 0; c < kBlocks; ++c) {
      tiles::Accumulator sum[2];
      for_pairs(sum, lane, [&](float* two, int row, int column) {
        const auto old =
            *reinterpret_cast<const float2*>(state.at(c * kBlock + row, mine + column));
        two[0] = old.x, two[1] = old.y;
      });
#pragma unroll
      for (int s = 0; s < kBlocks; ++s)
        tiles::multiply(sum, load_a_km(k, s * kBlock, c * kBlock, lane), of_v[s]);
      for_pairs(sum, lane, [&](const float* two, int row, int column) {
        *reinterpret_cast<float2*>(state.at(c * kBlock + row, mine + column)) =
            make_float2(two[0], two[1]);
      });
    }
    __syncthreads();  // all threads have finished this chunk, so its buffer is free
  }
}

void linear_attention(const ladder::LinearAttentionBf16Args& args) {
  require_plain_product(args);
  if (args.B == 0 || args.T_q == 0) return;
  const dim3 grid(static_cast<unsigned>(args.H), static_cast<unsigned>(args.B));
  linear_attention_chunk_products<<<grid, kThreads>>>(args);
  CUDA_CHECK(cudaGetLastError());
}

const ladder::Registration registration{
    {.name = "linear_attention_chunk_products",
     .device = ladder::DeviceKind::kCuda,
     .bf16_arithmetic = ladder::Arithmetic::kBf16Operands,
     .units = ladder::Units::kTensorCores,
     .launchers = ladder::launchers<ladder::LinearAttention>(linear_attention)}};

}  // namespace
}  // namespace chunkwise
