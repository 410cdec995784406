// 09c scores in registers: a warp computes the scores of 16 tokens itself, and they are a factor without leaving its registers.
// Change: 07.09b with products over 16 tokens at a time; a chunk of 64 is only what is copied together.
// Why:    warps exchanged scores through shared memory: 8 KB, a barrier, and loads.
// Needs:  what 07 needs.
// Costs:  all four warps compute the same scores. The state becomes a factor four times in 64 tokens.
//         See README for what was measured.
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

constexpr int kChunk = kChannels;  // tokens that are copied together: q, k and v are 64 x 64
constexpr int kSize = kChunk * kChannels;  // elements of each
constexpr int kBlock = 16;                 // rows and columns of two products side by side
constexpr int kBlocks = kChunk / kBlock;   // of these along a side
constexpr int kThreads = kBlocks * kWarpSize;
constexpr int kStages = 2;  // places for q, k and v: one chunk is multiplied, one on its way
constexpr int kStageSize = 3 * kSize;
constexpr int kBytes = kStages * kStageSize * static_cast<int>(sizeof(bfloat16));

// Rows of 128 bytes, the units of each in an order of its own.
using Tile = tiles::Tile<bfloat16, kChannels>;

// Key s is seen by query l if s <= l.
__device__ void mask(tiles::Accumulator (&scores)[2], int lane) {
#pragma unroll
  for (int i = 0; i < 8; ++i) {
    const auto [l, s] = tiles::accumulator_place(lane, i % 4);
    // TODO(1): roughly 1 line; element (l, s) of the left half, or 8 columns further to the right, becomes 0 where no query sees the key.
  }
}

// visit(two, row, column) for each pair of neighbours that the lane has of 16 x 16 sums: two[0] and, to its right, two[1].
template <typename Visit>
__device__ void for_pairs(tiles::Accumulator (&sum)[2], int lane, Visit visit) {
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    // TODO(2): roughly 2 lines; the pair number i: half i / 2 of the sums, its elements 2 (i % 2) and the next one; accumulator_place says where
    // TODO(2): they lie in the half. budget: nothing of memory.
  }
}

__global__ void __launch_bounds__(kThreads)
    linear_attention_scores_in_registers(const ladder::LinearAttentionBf16Args args) {
  extern __shared__ uint4 smem[];  // (kStages, kStageSize)
  const int lane = threadIdx.x % kWarpSize, warp = threadIdx.x / kWarpSize;
  const std::int64_t h = blockIdx.x, b = blockIdx.y, stride = args.H * kChannels;
  // Where this warp's 16 columns of v, o and the state begin.
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
  // Asks for the chunk from token t on, if there is one; zeros beyond the last token.
  const auto fetch = [&](std::int64_t t) {
    if (t >= args.T_q) return;
    // TODO(3): roughly 7 lines; the chunk's rows of q, k and v go to the tiles of place_of(t), by tiles::copy_rows_async: from first_of(t) on,
    // TODO(3): rows_of(t) rows of kChannels elements, `stride` apart, aligned; zeros beyond them. Then commit. budget: one read of each element.
  };

  // S^T: this warp's 16 columns of S as rows; state[c] has channels 16 c to 16 c + 15.
  tiles::Accumulator state[kBlocks][2] = {};
  // TODO(4): roughly 1 line; the first chunk is on its way.
  for (std::int64_t t = 0; t < args.T_q; t += kChunk) {
    const auto [q, k, v] = place_of(t);
    // TODO(4): roughly 3 lines; this chunk has arrived, for all threads, and all have left the one before; the next one is on its way to the
    // TODO(4): other place. budget: one barrier for each chunk.

#pragma unroll
    for (int unit = 0; unit < kChunk; unit += kBlock) {
      const FragmentA of_v = load_a_km(v, unit, mine, lane);  // V^T, which as a B is V
      tiles::Accumulator scores[2] = {}, sum[2] = {};
      FragmentB factor[2];
#pragma unroll
      for (int c = 0; c < kBlocks; ++c) {
        // TODO(5): roughly 7 lines; with the channels of block c: Q K^T to the scores, Q S to the sum, V^T K to the state. budget: three loads of
        // TODO(5): matrices.
      }
      // TODO(1): roughly 3 lines; the masked scores times V to the sum. budget: no access to memory.
      for_pairs(sum, lane, [&](const float* two, int row, int column) {
        // TODO(2): roughly 3 lines; two neighbours of o, if the chunk has such a row: row unit + row, columns mine + column and the next one.
        // TODO(2): budget: one store of 4 bytes for the two.
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
