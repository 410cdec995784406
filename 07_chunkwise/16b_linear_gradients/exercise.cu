// 07 chunkwise, linear attention's gradients: three causal products, two of them in reverse time.
// Change: 07.09c launched three times with other arrays for q, k and v. A launch may begin with the
//         last token.
// Why:    the gradients of a causal product are causal products. D, the gradient of the state, is a
//         state that goes back in time.
// Needs:  K = V = 64, bf16, no feature map, no normaliser, rows at multiples of 16 bytes, sm_80.
// Costs:  three times the forward pass. dk and dv each compute the same D. d_o is loaded three
//         times, q, k and v twice.
//         See README for measurements.
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
    linear_attention_gradients(const ladder::LinearAttentionBf16Args args, const bool reverse) {
  extern __shared__ uint4 smem[];  // (kStages, kStageSize)
  const int lane = threadIdx.x % kWarpSize, warp = threadIdx.x / kWarpSize;
  const std::int64_t h = blockIdx.x, b = blockIdx.y;
  // This head's token 0, and the distance to the next one.
  std::int64_t first = (b * args.T_q * args.H + h) * kChannels, stride = args.H * kChannels;
  if (reverse) {  // token 0 is the last one, and the next one is before it
    // TODO(1): roughly 2 lines; change `first` and `stride` accordingly; budget: no access to
    // TODO(1): memory.
  }
  // This warp's first of 16 columns of v, o and the state.
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
        const FragmentA of_q = load_a_mk(q, unit, c * kBlock, lane);
        load_b_nk(factor, k, unit, c * kBlock, lane);
        tiles::multiply(scores, of_q, factor);  // Q K^T
        tiles::as_b(factor, tiles::as_a<bfloat16>(state[c][0], state[c][1]));
        tiles::multiply(sum, of_q, factor);  // Q S
        load_b_kn(factor, k, unit, c * kBlock, lane);
        tiles::multiply(state[c], of_v, factor);  // S^T += V^T K
      }
      mask(scores, lane);
      tiles::as_b(factor, of_v);
      tiles::multiply(sum, tiles::as_a<bfloat16>(scores[0], scores[1]), factor);  // scores V
      for_pairs(sum, lane, [&](const float* two, int row, int column) {
        if (unit + row >= rows_of(t)) return;
        bfloat16* const o = args.o + first_of(t) + (unit + row) * stride + mine + column;
        *reinterpret_cast<std::uint32_t*>(o) = ladder::cuda::pack_bf16(two[0], two[1]);
      });
    }
  }
}

// o_t = sum of (q_t . k_s) v_s over the tokens s up to t, or from t on with `reverse`.
void causal_product(const Args& args, const bfloat16* q, const bfloat16* k, const bfloat16* v,
                    bfloat16* o, bool reverse) {
  const ladder::LinearAttentionBf16Args product{
      .B = args.B, .T_q = args.T, .H = args.H, .q = q, .k = k, .v = v, .o = o};
  const dim3 grid(static_cast<unsigned>(args.H), static_cast<unsigned>(args.B));
  linear_attention_gradients<<<grid, kThreads, kBytes>>>(product, reverse);
  CUDA_CHECK(cudaGetLastError());
}

void gradients(const Args& args) {
  ladder::validate_lists(args);
  require_plain_heads(args);
  if (args.B == 0 || args.T == 0) return;
  Args::arrays(args, RequireUnits());
  ladder::cuda::allow_shared_memory("linear_attention_gradients", linear_attention_gradients,
                                    kBytes);
  //                   q         k         v         o
  // TODO(2): roughly 3 lines; compute dq, dk and dv, each by a causal_product with its own q, k, v
  // TODO(2): and direction; budget: three launches.
}

const ladder::Registration registration{
    {.name = "linear_attention_gradients",
     .device = ladder::DeviceKind::kCuda,
     .bf16_arithmetic = ladder::Arithmetic::kBf16Operands,
     .units = ladder::Units::kTensorCores,
     .launchers = ladder::launchers<CausalDotProductBackward>(gradients)}};

}  // namespace
}  // namespace chunkwise
