// 07 chunkwise, linear attention's gradients: three causal products on tensor cores, two of them in reversed time.
// Change: 07.09c launched three times with other arrays in the places of q, k and v; a walk may begin with the last token.
// Why:    the gradients of a causal product are causal products: D, the gradient by the state, is a state that goes back in time.
// Needs:  K = V = 64, bf16, no feature map, no normaliser; rows at multiples of 16 bytes; sm_80.
// Costs:  three times the forward pass. dk and dv make the same D, each for itself; d_o is fetched three times, q, k and v twice.
//         See README for what was measured.
#include <cuda_pipeline.h>
#include <cuda_runtime.h>

#include <cstdint>

#include "07_chunkwise/16b_linear_gradients/causal_dot_product_backward.hpp"
#include "07_chunkwise/plain_product.hpp"
#include "common/core/lists.hpp"
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
using Args = CausalDotProductBackwardArgs<bfloat16>;

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
    if (i / 4 * 8 + s > l) scores[i / 4][i % 4] = 0.0f;
  }
}

// visit(two, row, column) for each pair of neighbours that the lane has of 16 x 16 sums: two[0] and, to its right, two[1].
template <typename Visit>
__device__ void for_pairs(tiles::Accumulator (&sum)[2], int lane, Visit visit) {
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const tiles::Place mn = tiles::accumulator_place(lane, i % 2 * 2);
    visit(&sum[i / 2][i % 2 * 2], mn.row, i / 2 * 8 + mn.column);
  }
}

__global__ void __launch_bounds__(kThreads)
    linear_attention_gradients(const ladder::LinearAttentionBf16Args args, const bool reverse) {
  extern __shared__ uint4 smem[];  // (kStages, kStageSize)
  const int lane = threadIdx.x % kWarpSize, warp = threadIdx.x / kWarpSize;
  const std::int64_t h = blockIdx.x, b = blockIdx.y;
  // Where this head's token 0 lies, and how far behind it the next one.
  std::int64_t first = (b * args.T_q * args.H + h) * kChannels, stride = args.H * kChannels;
  if (reverse) {  // the walk's token 0 is the last one, and the next one lies before it
    // TODO(1): roughly 2 lines; where the walk begins, and where its next token lies. budget: no access to memory.
  }
  // Where this warp's 16 columns of v, o and the state begin.
  const int mine = warp * kBlock;

  struct Chunk {
    Tile q, k, v;  // (token, channel)
  };
  const auto place_of = [&](std::int64_t t) {
    bfloat16* const place = reinterpret_cast<bfloat16*>(smem) + t / kChunk % kStages * kStageSize;
    return Chunk{{place}, {place + kSize}, {place + 2 * kSize}};
  };
  const auto first_of = [&](std::int64_t t) { return first + t * stride; };
  const auto rows_of = [&](std::int64_t t) {
    return static_cast<int>(min(args.T_q - t, std::int64_t{kChunk}));
  };
  // Asks for the chunk from token t on, if there is one; zeros beyond the last token.
  const auto fetch = [&](std::int64_t t) {
    if (t >= args.T_q) return;
    // TODO(2): roughly 7 lines; the chunk's rows of q, k and v go to the tiles of place_of(t), by tiles::copy_rows_async: from first_of(t) on,
    // TODO(2): rows_of(t) rows of kChannels elements, `stride` apart, aligned; zeros beyond them. Then commit. budget: one read of each element.
  };

  // S^T: this warp's 16 columns of S as rows; state[c] has channels 16 c to 16 c + 15.
  tiles::Accumulator state[kBlocks][2] = {};
  // TODO(2): roughly 1 line; the first chunk is on its way.
  for (std::int64_t t = 0; t < args.T_q; t += kChunk) {
    const auto [q, k, v] = place_of(t);
    // TODO(2): roughly 3 lines; this chunk has arrived, for all threads, and all have left the one before; the next one is on its way to the
    // TODO(2): other place. budget: one barrier for each chunk.

#pragma unroll
    for (int unit = 0; unit < kChunk; unit += kBlock) {
      const FragmentA of_v = load_a_km(v, unit, mine, lane);  // V^T, which as a B is V
      tiles::Accumulator scores[2] = {}, sum[2] = {};
      FragmentB factor[2];
#pragma unroll
      for (int c = 0; c < kBlocks; ++c) {
        // TODO(3): roughly 7 lines; with the channels of block c: Q K^T to the scores, Q S to the sum, V^T K to the state. budget: three loads of
        // TODO(3): matrices.
      }
      // TODO(3): roughly 3 lines; the masked scores times V to the sum. budget: no access to memory.
      for_pairs(sum, lane, [&](const float* two, int row, int column) {
        if (unit + row >= rows_of(t)) return;
        bfloat16* const o = args.o + first_of(t) + (unit + row) * stride + mine + column;
        *reinterpret_cast<std::uint32_t*>(o) = ladder::cuda::pack_bf16(two[0], two[1]);
      });
    }
  }
}

// o_t = sum of (q_t . k_s) v_s over the tokens s up to t; with `reverse`, over those from t on.
void causal_product(const Args& args, const bfloat16* q, const bfloat16* k, const bfloat16* v,
                    bfloat16* o, bool reverse) {
  // TODO(4): roughly 5 lines; the kernel with these arrays, a block for each head h and batch b: blockIdx.x and blockIdx.y. Then look whether it
  // TODO(4): was launched. budget: one launch.
}

void gradients(const Args& args) {
  ladder::validate_lists(args);
  require_plain_heads(args);
  if (args.B == 0 || args.T == 0) return;
  Args::arrays(args, RequireUnits());
  ladder::cuda::allow_shared_memory("linear_attention_gradients", linear_attention_gradients,
                                    kBytes);
  //                   q         k         v         o
  // TODO(4): roughly 3 lines; which arrays are q, k and v of dq, of dk and of dv, and which way time runs. budget: three launches.
}

const ladder::Registration registration{
    {.name = "linear_attention_gradients",
     .device = ladder::DeviceKind::kCuda,
     .bf16_arithmetic = ladder::Arithmetic::kBf16Operands,
     .units = ladder::Units::kTensorCores,
     .launchers = ladder::launchers<CausalDotProductBackward>(gradients)}};

}  // namespace
}  // namespace chunkwise
