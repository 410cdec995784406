// 09b copies ahead: the next chunk comes by asynchronous copies while this one is multiplied.
// Change: 07.09 with two places for q, k and v in turn; a chunk is asked for when all have left the one before it.
// Why:    the four warps of a block waited for every chunk, and the tensor cores with them.
// Needs:  what 07 needs.
// Costs:  24 KB of shared memory more, 56 KB in all: a launcher has to ask for that.
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

constexpr int kChunk = kChannels;          // tokens: q, k, v, scores and state are all 64 x 64
constexpr int kSize = kChunk * kChannels;  // elements of each
constexpr int kBlock = 16;                 // rows and columns of two products side by side
constexpr int kBlocks = kChunk / kBlock;   // of these along a side
constexpr int kThreads = kBlocks * kWarpSize;
constexpr int kStages = 2;  // places for q, k and v: one chunk is multiplied, one on its way
constexpr int kStageSize = 3 * kSize;
constexpr int kBytes = (kStages * kStageSize + kSize) * static_cast<int>(sizeof(bfloat16));

// Rows of 128 bytes, the units of each in an order of its own.
using Tile = tiles::Tile<bfloat16, kChannels>;

// Key s is seen by query l if s <= l.
__device__ void mask(tiles::Accumulator (&scores)[2], int lane) {
  // TODO(1): roughly 5 lines; a score becomes 0 where no query sees the key; scores[1] has the eight keys to the right. budget: nothing of memory.
}

// visit(two, row, column) for each pair of neighbours that the lane has of 16 x 16 sums: two[0] and, to its right, two[1].
template <typename Visit>
__device__ void for_pairs(tiles::Accumulator (&sum)[2], int lane, Visit visit) {
  // TODO(1): roughly 5 lines; a visit of each pair: its two sums, and where they lie in 16 x 16. budget: nothing of memory.
}

__global__ void __launch_bounds__(kThreads)
    linear_attention_copies_ahead(const ladder::LinearAttentionBf16Args args) {
  extern __shared__ uint4 smem[];  // (kStages, kStageSize), then the scores (kSize)
  const int lane = threadIdx.x % kWarpSize, warp = threadIdx.x / kWarpSize;
  const std::int64_t h = blockIdx.x, b = blockIdx.y, stride = args.H * kChannels;
  // Where this warp's 16 begin: rows of the scores; columns of v, o and the state.
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
  // Asks for the chunk from token t on, if there is one; zeros beyond the last token.
  const auto fetch = [&](std::int64_t t) {
    if (t >= args.T_q) return;
    // TODO(2): roughly 7 lines; the chunk's rows of q, k and v go to the tiles of place_of(t), by tiles::copy_rows_async: from first_of(t) on,
    // TODO(2): rows_of(t) rows of kChannels elements, `stride` apart, aligned; zeros beyond them. One group. budget: one copy of each element.
  };

  // S^T: this warp's 16 columns of S as rows; state[c] has channels 16 c to 16 c + 15.
  tiles::Accumulator state[kBlocks][2] = {};
  // TODO(3): roughly 1 line; the first chunk is on its way.
  for (std::int64_t t = 0; t < args.T_q; t += kChunk) {
    const auto [q, k, v] = place_of(t);
    // TODO(3): roughly 3 lines; this chunk has arrived, for all threads, and all have left the one before; the next one is on its way to the
    // TODO(3): other place. budget: one barrier; no copies are waited for at once but those of the first chunk.

    // Q K^T: this warp's queries with the keys up to them.
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
        // TODO(1): roughly 2 lines; two neighbours of the scores: query mine + row, keys s + column and the next one. budget: one store of 4 bytes.
      });
    }
    // TODO(3): roughly 1 line; the scores are there, for all threads. budget: one barrier.

    // Q S + scores V: this warp's columns, for all queries.
    FragmentB of_state[kBlocks][2], factor[2];
    FragmentA of_v[kBlocks];  // V^T, which as a B is V
    // TODO(4): roughly 5 lines; what all queries' products share: S as B, 16 channels at a time, and V^T as A, 16 tokens at a time. budget: four
    // TODO(4): loads of matrices.
#pragma unroll
    for (int l = 0; l < kBlocks; ++l) {
      tiles::Accumulator sum[2] = {};
      // TODO(4): roughly 8 lines; Q S and scores V of the 16 queries from l * kBlock on, to `sum`; later keys are left out. budget: one load of
      // TODO(4): matrices for each 16 x 16 of q and of the scores.
      for_pairs(sum, lane, [&](const float* two, int row, int column) {
        // TODO(1): roughly 3 lines; two neighbours of o, if the chunk has such a row: row l * kBlock + row, columns mine + column and the next one.
        // TODO(1): budget: one store of 4 bytes for the two.
      });
    }

    // S^T += V^T K
    // TODO(5): roughly 8 lines; V^T K is added to the state, 16 channels and 16 tokens at a time. budget: 16 loads of matrices.
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
