// 09b copies ahead: the next chunk is copied asynchronously while this one is multiplied.
// Change: 07.09 with two buffers for q, k and v. A chunk's copies start when all warps have
//         finished the chunk before the current one.
// Why:    the four warps of a block waited for every chunk, and the tensor cores with them.
// Needs:  the same as 07.
// Costs:  24 KB more shared memory, 56 KB in all, which a launcher must request.
//         See README for measurements.
#include <cuda_pipeline.h>
#include <cuda_runtime.h>

#include <cstdint>

#include "07_chunkwise/plain_product.hpp"
#include "common/core/registry.hpp"
#include "common/cuda/check.hpp"
#include "common/cuda/shared_memory.hpp"
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
using tiles::load_a_km;
using tiles::load_a_mk;
using tiles::load_b_kn;
using tiles::load_b_nk;
using FragmentA = tiles::FragmentA<bfloat16>;  // 16 x 16
using FragmentB = tiles::FragmentB<bfloat16>;  // 16 x 8

constexpr int kStages = 2;  // double buffer for q, k and v: one chunk in use, one in flight
constexpr int kStageSize = 3 * kSize;
constexpr int kBytes = (kStages * kStageSize + kSize) * static_cast<int>(sizeof(bfloat16));

// Rows of 128 bytes, swizzled in 16-byte vectors.
using Tile = tiles::Tile<bfloat16, kChannels>;

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
    linear_attention_copies_ahead(const ladder::LinearAttentionBf16Args args) {
  extern __shared__ uint4 smem[];  // (kStages, kStageSize), then the scores (kSize)
  const int lane = threadIdx.x % kWarpSize, warp = threadIdx.x / kWarpSize;
  const std::int64_t h = blockIdx.x, b = blockIdx.y, stride = args.H * kChannels;
  // This warp's first of 16 rows of the scores, and of 16 columns of v, o and the state.
  const int mine = warp * kBlock;

  struct Chunk {
    Tile q, k, v;  // (token, channel)
  };
  const auto place_of = [&](std::int64_t t) {
    bfloat16* const place = reinterpret_cast<bfloat16*>(smem) + t / kChunk % kStages * kStageSize;
    return Chunk{{place}, {place + kSize}, {place + 2 * kSize}};
  };
  const Tile scores{reinterpret_cast<bfloat16*>(smem) + kStages * kStageSize};  // (query, key)
  const auto first_of = [&](std::int64_t t) { return (b * args.T_q + t) * stride + h * kChannels; };
  const auto rows_of = [&](std::int64_t t) {
    return static_cast<int>(min(args.T_q - t, std::int64_t{kChunk}));
  };
  // Starts the copies of the chunk from token t on, if any, with zeros past the last token.
  const auto fetch = [&](std::int64_t t) {
    if (t >= args.T_q) return;
    const auto copy = [&](Tile tile, const bfloat16* x) {
      tiles::copy_rows_async<kChunk, kThreads>(tile, x + first_of(t), stride, rows_of(t), kChannels,
                                               true, threadIdx.x);
    };
    // TODO(1): roughly 3 lines; start the copies of q, k and v, as one group; budget: one copy of
    // TODO(1): each element.
  };

  // S^T: this warp's 16 columns of S as rows. state[c] holds channels 16 c to 16 c + 15.
  tiles::Accumulator state[kBlocks][2] = {};
  fetch(0);
  for (std::int64_t t = 0; t < args.T_q; t += kChunk) {
    const auto [q, k, v] = place_of(t);
    // TODO(2): roughly 3 lines; wait for your copies of the chunk from t on, synchronize, and start
    // TODO(2): the copies of the next chunk; budget: one barrier; only the first chunk's copies are
    // TODO(2): waited for at once.

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
  }
}

void linear_attention(const ladder::LinearAttentionBf16Args& args) {
  require_plain_product(args);
  ladder::cuda::allow_shared_memory("linear_attention_copies_ahead", linear_attention_copies_ahead,
                                    kBytes);
  if (args.B == 0 || args.T_q == 0) return;
  const dim3 grid(static_cast<unsigned>(args.H), static_cast<unsigned>(args.B));
  linear_attention_copies_ahead<<<grid, kThreads, kBytes>>>(args);
  CUDA_CHECK(cudaGetLastError());
}

const ladder::Registration registration{
    {.name = "linear_attention_copies_ahead",
     .device = ladder::DeviceKind::kCuda,
     .bf16_arithmetic = ladder::Arithmetic::kBf16Operands,
     .units = ladder::Units::kTensorCores,
     .launchers = ladder::launchers<ladder::LinearAttention>(linear_attention)}};

}  // namespace
}  // namespace chunkwise
