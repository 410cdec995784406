// 09c scores in registers: a warp computes the scores of 16 tokens itself, as a register factor.
// Change: 07.09b with products over 16 tokens at a time. A chunk of 64 is only the unit of copies.
// Why:    warps swapped scores through 8 KB of shared memory, with a barrier and loads.
// Needs:  the same as 07.
// Costs:  all four warps compute the same scores. The state becomes a factor four times per 64
//         tokens.
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
constexpr int kBytes = kStages * kStageSize * static_cast<int>(sizeof(bfloat16));

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
    linear_attention_scores_in_registers(const ladder::LinearAttentionBf16Args args) {
  extern __shared__ uint4 smem[];  // (kStages, kStageSize)
  const int lane = threadIdx.x % kWarpSize, warp = threadIdx.x / kWarpSize;
  const std::int64_t h = blockIdx.x, b = blockIdx.y, stride = args.H * kChannels;
  // This warp's first of 16 columns of v, o and the state.
  const int mine = warp * kBlock;

  struct Chunk {
    Tile q, k, v;  // (token, channel)
  };
  const auto place_of = [&](std::int64_t t) {
    bfloat16* const place = reinterpret_cast<bfloat16*>(smem) + t / kChunk % kStages * kStageSize;
    return Chunk{{place}, {place + kSize}, {place + 2 * kSize}};
  };
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
    const Chunk to = place_of(t);
    copy(to.q, args.q), copy(to.k, args.k), copy(to.v, args.v);
    __pipeline_commit();
  };

  // S^T: this warp's 16 columns of S as rows. state[c] holds channels 16 c to 16 c + 15.
  tiles::Accumulator state[kBlocks][2] = {};
  fetch(0);
  for (std::int64_t t = 0; t < args.T_q; t += kChunk) {
    const auto [q, k, v] = place_of(t);
    __pipeline_wait_prior(0);
    __syncthreads();  // the chunk has arrived; the previous chunk's buffer may be refilled
    fetch(t + kChunk);

#pragma unroll
    for (int unit = 0; unit < kChunk; unit += kBlock) {
      const FragmentA of_v = load_a_km(v, unit, mine, lane);  // V^T, which as a B is V
      tiles::Accumulator scores[2] = {}, sum[2] = {};
      FragmentB factor[2];
#pragma unroll
      for (int c = 0; c < kBlocks; ++c) {
        // TODO(1): roughly 7 lines; with block c of the channels, add Q K^T to scores, Q S to sum
        // TODO(1): and V^T K to state[c]; budget: three loads of matrices.
      }
      mask(scores, lane);
      // TODO(2): roughly 2 lines; add scores times V to sum; budget: no access to memory.
      for_pairs(sum, lane, [&](const float* two, int row, int column) {
        if (unit + row >= rows_of(t)) return;
        bfloat16* const o = args.o + first_of(t) + (unit + row) * stride + mine + column;
        *reinterpret_cast<std::uint32_t*>(o) = ladder::cuda::pack_bf16(two[0], two[1]);
      });
    }
  }
}

void linear_attention(const ladder::LinearAttentionBf16Args& args) {
  require_plain_product(args);
  ladder::cuda::allow_shared_memory("linear_attention_scores_in_registers",
                                    linear_attention_scores_in_registers, kBytes);
  if (args.B == 0 || args.T_q == 0) return;
  const dim3 grid(static_cast<unsigned>(args.H), static_cast<unsigned>(args.B));
  linear_attention_scores_in_registers<<<grid, kThreads, kBytes>>>(args);
  CUDA_CHECK(cudaGetLastError());
}

const ladder::Registration registration{
    {.name = "linear_attention_scores_in_registers",
     .device = ladder::DeviceKind::kCuda,
     .bf16_arithmetic = ladder::Arithmetic::kBf16Operands,
     .units = ladder::Units::kTensorCores,
     .launchers = ladder::launchers<ladder::LinearAttention>(linear_attention)}};

}  // namespace
}  // namespace chunkwise
