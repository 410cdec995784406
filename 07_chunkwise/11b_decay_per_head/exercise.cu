// 07 chunkwise, a decay per head: linear attention in bf16, one decay factor per head and step.
// Change: rewrite. 10's loop with one shape and one pass. The mask multiplies each score by the
//         decays between its two tokens.
// Why:    a decay shared by all channels needs no product of its own, because it is a factor of a
//         score, of a row of o, of v and of the state.
// Needs:  K = V = 64, bf16, log_w in fp32, rows at multiples of 16 bytes, forward time, no states,
//         tensor cores (sm_80).
// Costs:  15 factors per lane and sub-chunk of 16 tokens, prepared by each of the four warps. A
//         block computes a whole head, so few heads leave a GPU idle.
//         See README for measurements.
#include <cuda_pipeline.h>
#include <cuda_runtime.h>

#include <cstdint>
#include <string>

#include "07_chunkwise/11b_decay_per_head/decay_per_head.hpp"
#include "common/core/bfloat16.hpp"
#include "common/core/errors.hpp"
#include "common/core/lists.hpp"
#include "common/core/registry.hpp"
#include "common/cuda/check.hpp"
#include "common/cuda/decay.hpp"
#include "common/cuda/shared_memory.hpp"
#include "common/cuda/tiles/fragment.hpp"
#include "common/cuda/tiles/load.hpp"
#include "common/cuda/tiles/product.hpp"
#include "common/cuda/tiles/rows.hpp"
#include "common/cuda/tiles/swizzle.hpp"
#include "common/cuda/warp.hpp"

namespace chunkwise {
namespace {

using ladder::bfloat16;
using ladder::cuda::decay_factor;
using ladder::cuda::kAllLanes;
using ladder::cuda::kWarpSize;
using namespace ladder::cuda::tiles;
using Args = DecayPerHeadArgs<bfloat16>;
using Rows = Tile<bfloat16, 64>;

constexpr int kChannels = Rows::kColumns;  // K and V
constexpr int kUnit = 16;                  // tokens, or channels, of a block of a product
constexpr int kBlocks = kChannels / kUnit;
constexpr int kTokens = 64;      // per stage, four sub-chunks
constexpr int kWarps = kBlocks;  // each has 16 value columns, and all rows of the state
constexpr int kThreads = kWarps * kWarpSize;

// Replaces -inf, because -inf - -inf is NaN. Its exp is 0 in fp32, and a lower value costs digits.
constexpr float kForgetsAll = -104;

constexpr std::uint32_t kUpper = 0xffff0000u;  // half of a register

struct alignas(128) Stage {
  bfloat16 q[kTokens * kChannels], k[kTokens * kChannels], v[kTokens * kChannels];
  float log_w[kTokens];  // later their sums, see sum_log_decays
};
struct Shared {
  Stage stages[2];                           // double buffer, one in use, one in flight
  bfloat16 outputs[2][kTokens * kChannels];  // double buffer, one is filled, one stored
};

// Replaces each token's log_w by the sum from its sub-chunk's first token to this one. Each thread
// sums what it copied itself.
__device__ void sum_log_decays(float* log_w_smem, int token) {
  const float log_w = log_w_smem[token];
  float sum = log_w < kForgetsAll ? kForgetsAll : log_w;  // fmaxf would replace a NaN
  // TODO(1): roughly 5 lines; make `sum` the running sum over the 16 lanes of a sub-chunk, this
  // TODO(1): lane's log_w included; budget: four shuffles, and no access to memory.
  log_w_smem[token] = sum;
}

// A lane has two rows and four columns of a 16 x 16 block. It needs a sub-chunk's sums of its
// queries (the rows of the scores), of its keys (the columns of the scores and of v^T), and the
// last one.
struct Sums {
  float query[2], key[2][2], last;

  __device__ Sums(const float* sums_smem, int lane) : last(sums_smem[kUnit - 1]) {
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      query[i] = sums_smem[accumulator_place(lane, 2 * i).row];
      key[0][i] = sums_smem[accumulator_place(lane, i).column];
      key[1][i] = sums_smem[8 + accumulator_place(lane, i).column];
    }
  }
};

// Query l sees key s <= l through the decays of the tokens after s, up to l.
__device__ void mask(Accumulator (&scores)[2], const Sums& sums, int lane) {
#pragma unroll
  for (int j = 0; j < 2; ++j) {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const auto [l, s] = accumulator_place(lane, i);
      // TODO(2): roughly 2 lines; multiply a visible score by the decays from key to query; set
      // TODO(2): others to 0; budget: one exp for each score, and no access to memory.
    }
  }
}

// The decays between the state and the sub-chunk's tokens.
struct Decays {
  float since[2];     // from the sub-chunk's first token to this query
  float until[2][2];  // after this key, up to the sub-chunk's last token
  float all;          // of the whole sub-chunk
};

__device__ Decays decays_of(const Sums& sums) {
  Decays decays = {};
  // TODO(3): roughly 6 lines; compute the seven decays, each exp of a sum or of a difference;
  // TODO(3): budget: seven exps, and no access to memory.
  return decays;
}

__device__ void multiply_rows(Accumulator (&x)[2], float upper, float lower) {
#pragma unroll
  for (int j = 0; j < 2; ++j) {
    x[j][0] *= upper, x[j][1] *= upper;
    x[j][2] *= lower, x[j][3] *= lower;
  }
}

// v^T (columns of v, tokens), each token decayed until the sub-chunk's end.
__device__ FragmentA<bfloat16> left_of(const FragmentA<bfloat16>& v, const Decays& decays) {
  FragmentA<bfloat16> left;
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    // bf16 is the upper half of a float.
    const float first = __uint_as_float(v.x[i] << 16), second = __uint_as_float(v.x[i] & kUpper);
    const float(&until)[2] = decays.until[i / 2];
    left.x[i] = as_register<bfloat16>(first * until[0], second * until[1]);
  }
  return left;
}

__global__ void __launch_bounds__(kThreads, 2) decay_per_head_kernel(const Args args) {
  extern __shared__ uint4 smem[];
  Shared& shared = *reinterpret_cast<Shared*>(smem);
  const int tid = static_cast<int>(threadIdx.x);
  const int lane = tid % kWarpSize, column = tid / kWarpSize * kUnit;
  const std::int64_t b = blockIdx.x / args.H, h = blockIdx.x % args.H;
  const std::int64_t stride = args.H * kChannels;

  const auto token_at = [&](std::int64_t t) { return (b * args.T + t) * args.H + h; };
  const auto rows_from = [&](std::int64_t t) {
    return static_cast<int>(min(args.T - t, std::int64_t{kTokens}));
  };
  // Out-of-bounds tokens become zeros with decays of 1, which leave the state unchanged.
  const auto fetch = [&](std::int64_t t) {
    Stage& stage = shared.stages[t / kTokens % 2];
    const std::int64_t token = token_at(t);
    const int rows = rows_from(t);
    const auto copy = [&](bfloat16* to, const bfloat16* from) {
      copy_rows_async<kTokens, kThreads>(Rows{to}, from + token * kChannels, stride, rows,
                                         kChannels, true, tid);
    };
    copy(stage.q, args.q), copy(stage.k, args.k), copy(stage.v, args.v);
    if (tid < kTokens)
      copy_unit<Copy::kAsync, 1>(stage.log_w + tid, args.log_w + token + tid * args.H, rows - tid,
                                 true);
    __pipeline_commit();
  };
  const auto send_outputs = [&](std::int64_t t) {
    const Rows outputs{shared.outputs[t / kTokens % 2]};
    write_rows<kTokens, kThreads>(args.o + token_at(t) * kChannels, outputs, stride, rows_from(t),
                                  kChannels, true, tid);
  };

  // This warp's columns of the state, transposed. state[c] has rows V and columns K from 16 c on.
  Accumulator state[kBlocks][2] = {};
  fetch(0);
  for (std::int64_t t0 = 0; t0 < args.T; t0 += kTokens) {
    Stage& stage = shared.stages[t0 / kTokens % 2];
    __pipeline_wait_prior(0);
    if (tid < kTokens) sum_log_decays(stage.log_w, tid);
    __syncthreads();  // the stage and its sums are complete; the previous one may be refilled
    if (t0 + kTokens < args.T) fetch(t0 + kTokens);
    if (t0 > 0) send_outputs(t0 - kTokens);

    // Scores are q k^T, summed over channels. The state adds v^T k, summed over tokens.
    const MkToA q_smem(Rows{stage.q}, 0, lane);
    const NkToB k_smem(Rows{stage.k}, 0, lane);
    const KnToB k_by_token_smem(Rows{stage.k}, 0, lane);
    const KmToA v_by_token_smem(Rows{stage.v}, 0, lane);
    const Rows outputs{shared.outputs[t0 / kTokens % 2]};
#pragma unroll
    for (int token = 0; token < kTokens; token += kUnit) {
      const Sums sums(stage.log_w + token, lane);
      const Decays decays = decays_of(sums);
      const auto v_reg = v_by_token_smem.load(token, column);
      Accumulator scores[2] = {}, out[2] = {};
      FragmentB<bfloat16> b_reg[2];
#pragma unroll
      for (int c = 0; c < kBlocks; ++c) {
        const auto q_reg = q_smem.load(token, c * kUnit);
        k_smem.load(b_reg, token, c * kUnit);
        multiply(scores, q_reg, b_reg);
        as_b(b_reg, as_a<bfloat16>(state[c][0], state[c][1]));
        multiply(out, q_reg, b_reg);
      }
      mask(scores, sums, lane);
      // TODO(3): roughly 1 line; decay the rows of `out`, which is q times the earlier state.
      as_b(b_reg, v_reg);
      multiply(out, as_a<bfloat16>(scores[0], scores[1]), b_reg);
      multiply_rows(out, args.scale, args.scale);
      store_c(outputs, token, column, out[0], lane);
      store_c(outputs, token, column + 8, out[1], lane);

      const auto v_left = left_of(v_reg, decays);
#pragma unroll
      for (int c = 0; c < kBlocks; ++c) {
        // TODO(3): roughly 1 line; decay block c of the state.
        k_by_token_smem.load(b_reg, token, c * kUnit);
        multiply(state[c], v_left, b_reg);
      }
    }
  }
  __syncthreads();  // the last outputs are in shared memory
  send_outputs((args.T - 1) / kTokens * kTokens);
}

void decay_per_head(const Args& args) {
  ladder::validate_lists(args);
  for (const auto& [name, size] : {std::pair{"K", args.K}, {"V", args.V}})
    ladder::require(size == kChannels, std::string(name) + " is " + std::to_string(size) +
                                           "; this kernel allows only K = V = 64");
  ladder::require(args.B <= INT32_MAX / args.H,
                  "B * H is too large; allowed: up to 2^31 - 1 blocks");
  if (args.B == 0 || args.T == 0) return;
  ladder::require_pointer("q", args.q, sizeof(uint4));
  ladder::require_pointer("k", args.k, sizeof(uint4));
  ladder::require_pointer("v", args.v, sizeof(uint4));
  ladder::require_pointer("o", args.o, sizeof(uint4));
  ladder::cuda::allow_shared_memory("decay_per_head_chunkwise", decay_per_head_kernel,
                                    sizeof(Shared));
  decay_per_head_kernel<<<static_cast<unsigned>(args.B * args.H), kThreads, sizeof(Shared)>>>(args);
  CUDA_CHECK(cudaGetLastError());
}

const ladder::Registration registration{
    {.name = "decay_per_head_chunkwise",
     .device = ladder::DeviceKind::kCuda,
     .rung = true,
     .bf16_arithmetic = ladder::Arithmetic::kBf16Operands,
     .units = ladder::Units::kTensorCores,
     .launchers = ladder::launchers<DecayPerHead>(decay_per_head)}};

}  // namespace
}  // namespace chunkwise
