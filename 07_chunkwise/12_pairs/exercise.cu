// 07 chunkwise, pairs: WKV on tensor cores, with a decay for each channel and pair of tokens.
// Change: rewrite. 11b's loop, in which each warp first prepares a sub-chunk. It computes q~, k~
//         and the scores, each of whose terms has its own factor.
// Why:    a decay per channel is inside the score's sum, so it cannot be a mask on the scores.
// Needs:  K = V = 64, bf16, rows at multiples of 16 bytes, forward time, no states, tensor cores
//         (sm_80).
// Costs:  12,288 exponentials for the scores of 16 tokens, none of them on tensor cores. A NaN in
//         v_s reaches its column of o in all of its 16 tokens. See README for measurements.
#include <cuda_pipeline.h>
#include <cuda_runtime.h>

#include <cstdint>

#include "07_chunkwise/plain_wkv.hpp"
#include "common/core/bfloat16.hpp"
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
using ladder::cuda::kWarpSize;
using namespace ladder::cuda::tiles;
using Args = ladder::WkvBf16Args;
using Rows = Tile<bfloat16, kChannels>;

constexpr int kUnit = 16;  // tokens, or channels, of a block of a product
constexpr int kBlocks = kChannels / kUnit;
constexpr int kTokens = 64;  // per stage, four sub-chunks
constexpr int kUnits = kTokens / kUnit;
// Each warp prepares a sub-chunk, then computes 16 value columns with all rows of the state.
constexpr int kWarps = kBlocks;
constexpr int kThreads = kWarps * kWarpSize;
constexpr int kSumStride = kChannels + 4;  // padded: eight rows of a column are in different banks
static_assert(kWarps == kUnits && kChannels == 2 * kWarpSize);

// Replaces -inf, because -inf - -inf is NaN. Its exp is 0 in fp32, and a lower value costs digits.
constexpr float kForgetsAll = -104;

struct alignas(128) Stage {
  bfloat16 q[kTokens * kChannels], k[kTokens * kChannels];  // later q~ and k~
  bfloat16 v[kTokens * kChannels], log_w[kTokens * kChannels];
};
struct Shared {
  Stage stages[2];  // double buffer, one in use, one in flight
  bfloat16 outputs[kTokens * kChannels];
  bfloat16 scores[kUnit * kChannels];            // of the sub-chunks, side by side
  float sums[kUnits][(kUnit + 1) * kSumStride];  // row t, sums of log_w over the tokens before t
  float decays[kUnits][kChannels];               // of a whole sub-chunk
  float u[kChannels];
};

// The scores of a sub-chunk. Between query l and an earlier key s are the decays of the tokens
// after s and before l. In its own step a key has the bonus instead.
__device__ void score_pairs(Accumulator (&scores)[2], Rows q_smem, Rows k_smem,
                            const float* sums_smem, const float* u_smem, int lane) {
#pragma unroll 2
  for (int ik = 0; ik < kChannels; ik += 2) {
    // A lane has two rows and four columns of the scores.
    float u[2], q[2][2], before_query[2][2], k[4][2], behind_key[4][2];
    copy<2>(u, u_smem + ik);
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      const int l = accumulator_place(lane, 2 * i).row;
      copy<2>(q[i], q_smem.at(l, ik));
      copy<2>(before_query[i], sums_smem + l * kSumStride + ik);
    }
#pragma unroll
    for (int n = 0; n < 4; ++n) {
      const int s = n / 2 * 8 + accumulator_place(lane, n % 2).column;
      copy<2>(k[n], k_smem.at(s, ik));
      copy<2>(behind_key[n], sums_smem + (s + 1) * kSumStride + ik);
    }
#pragma unroll
    for (int n = 0; n < 8; ++n) {
      const int j = n / 4, i = n % 4, query = i / 2, key = 2 * j + i % 2;
      if (j > query) continue;  // all of these keys are later
      const auto [l, s] = accumulator_place(lane, i);
#pragma unroll
      for (int e = 0; e < 2; ++e) {
        // TODO(1): roughly 3 lines; add channel e's term to the score, with the decays between key
        // TODO(1): and query, or with the bonus if the key is the query's own; budget: one exp, and
        // TODO(1): no access to memory.
      }
    }
  }
#pragma unroll
  for (int n = 0; n < 8; ++n) {
    const auto [l, column] = accumulator_place(lane, n % 4);
    const int s = n / 4 * 8 + column;
    if (s > l) scores[n / 4][n % 4] = 0.0f;
  }
}

// Replaces q by q~, decayed from the sub-chunk's start, and k by k~, decayed until its end.
__device__ void decay_rows(Rows q_smem, Rows k_smem, float* decays_smem, const float* sums_smem,
                           int lane) {
  const int ik = 2 * lane;
  float q[2], k[2], before[2], behind[2], end[2];
  copy<2>(end, sums_smem + kUnit * kSumStride + ik);
#pragma unroll
  for (int t = 0; t < kUnit; ++t) {
    copy<2>(q, q_smem.at(t, ik)), copy<2>(k, k_smem.at(t, ik));
    copy<2>(before, sums_smem + t * kSumStride + ik);
    copy<2>(behind, sums_smem + (t + 1) * kSumStride + ik);
    for (int e = 0; e < 2; ++e) {
      // TODO(2): roughly 2 lines; replace q and k of token t by q~ and k~; budget: two exps, and
      // TODO(2): no access to memory.
    }
    copy<2>(q_smem.at(t, ik), q), copy<2>(k_smem.at(t, ik), k);
  }
  for (int e = 0; e < 2; ++e)
    end[e] = decay_factor(end[e]);
  copy<2>(decays_smem + ik, end);
}

// Computes all of a sub-chunk that does not need the state, that is, the scores, q~ and k~.
__device__ void prepare(Shared& shared, Stage& stage, int unit, int lane) {
  const Rows q_smem = Rows{stage.q}.below(unit * kUnit), k_smem = Rows{stage.k}.below(unit * kUnit);
  const Rows log_w_smem = Rows{stage.log_w}.below(unit * kUnit);
  const int ik = 2 * lane;  // a lane sums two channels
  float* const sums_smem = shared.sums[unit];
  float sum[2] = {}, log_w[2];
  copy<2>(sums_smem + ik, sum);
#pragma unroll
  for (int t = 0; t < kUnit; ++t) {
    copy<2>(log_w, log_w_smem.at(t, ik));
    for (int e = 0; e < 2; ++e)
      sum[e] += log_w[e] < kForgetsAll ? kForgetsAll : log_w[e];  // fmaxf would replace a NaN
    copy<2>(sums_smem + (t + 1) * kSumStride + ik, sum);
  }
  __syncwarp();  // the sums are in shared memory
  Accumulator scores[2] = {};
  score_pairs(scores, q_smem, k_smem, sums_smem, shared.u, lane);
  store_c(Rows{shared.scores}, 0, unit * kUnit, scores[0], lane);
  store_c(Rows{shared.scores}, 0, unit * kUnit + 8, scores[1], lane);
  __syncwarp();  // all lanes have read q and k
  decay_rows(q_smem, k_smem, shared.decays[unit], sums_smem, lane);
}

__device__ void multiply_columns(Accumulator (&x)[2], const float* factors_smem, int lane) {
#pragma unroll
  for (int j = 0; j < 2; ++j) {
    float factor[2];
    copy<2>(factor, factors_smem + j * 8 + accumulator_place(lane, 0).column);
#pragma unroll
    for (int i = 0; i < 4; ++i)
      x[j][i] *= factor[i % 2];
  }
}

__global__ void __launch_bounds__(kThreads, 2) wkv_pairs(const Args args) {
  extern __shared__ uint4 smem[];
  Shared& shared = *reinterpret_cast<Shared*>(smem);
  const int tid = static_cast<int>(threadIdx.x);
  const int lane = tid % kWarpSize, warp = tid / kWarpSize, column = warp * kUnit;
  const std::int64_t b = blockIdx.x / args.H, h = blockIdx.x % args.H;
  const std::int64_t stride = args.H * kChannels;

  const auto first_of = [&](std::int64_t t) { return (b * args.T + t) * stride + h * kChannels; };
  const auto rows_from = [&](std::int64_t t) {
    return static_cast<int>(min(args.T - t, std::int64_t{kTokens}));
  };
  // Out-of-bounds tokens become zeros with decays of 1, which leave the state unchanged.
  const auto fetch = [&](std::int64_t t) {
    Stage& stage = shared.stages[t / kTokens % 2];
    const auto copy = [&](bfloat16* to, const bfloat16* from, std::int64_t step) {
      copy_rows_async<kTokens, kThreads>(Rows{to}, from, step, rows_from(t), kChannels, true, tid);
    };
    copy(stage.q, args.q + first_of(t), stride);
    copy(stage.k, args.k + first_of(t), stride);
    copy(stage.v, args.v + first_of(t), stride);
    // The strides of log_w are 0 if all tokens have the same decays.
    copy(stage.log_w,
         args.log_w + b * args.log_w_stride_B + t * args.log_w_stride_T + h * kChannels,
         args.log_w_stride_T);
    __pipeline_commit();
  };
  const auto send_outputs = [&](std::int64_t t) {
    write_rows<kTokens, kThreads>(args.o + first_of(t), Rows{shared.outputs}, stride, rows_from(t),
                                  kChannels, true, tid);
  };

  // This warp's columns of the state, transposed. state[c] has rows V and columns K from 16 c on.
  Accumulator state[kBlocks][2] = {};
  fetch(0);
  if (tid < kChannels) shared.u[tid] = ladder::cuda::load(args.u + h * kChannels + tid);
  for (std::int64_t t0 = 0; t0 < args.T; t0 += kTokens) {
    Stage& stage = shared.stages[t0 / kTokens % 2];
    __pipeline_wait_prior(0);
    __syncthreads();  // the stage has arrived; the previous one may be refilled
    if (t0 + kTokens < args.T) fetch(t0 + kTokens);
    if (t0 > 0) send_outputs(t0 - kTokens);
    prepare(shared, stage, warp, lane);
    __syncthreads();  // all sub-chunks are prepared; the stored outputs may be overwritten

    // Outputs are q~ S, summed over channels, and scores v. The state adds v^T k~, over tokens.
    const MkToA q_smem(Rows{stage.q}, 0, lane);
    const MkToA scores_smem(Rows{shared.scores}, 0, lane);
    const KnToB k_by_token_smem(Rows{stage.k}, 0, lane);
    const KmToA v_by_token_smem(Rows{stage.v}, 0, lane);
#pragma unroll
    for (int token = 0; token < kTokens; token += kUnit) {
      const auto v_reg = v_by_token_smem.load(token, column);
      Accumulator out[2] = {};
      FragmentB<bfloat16> b_reg[2];
#pragma unroll
      for (int c = 0; c < kBlocks; ++c) {
        as_b(b_reg, as_a<bfloat16>(state[c][0], state[c][1]));
        multiply(out, q_smem.load(token, c * kUnit), b_reg);
      }
      as_b(b_reg, v_reg);
      multiply(out, scores_smem.load(0, token), b_reg);
#pragma unroll
      for (int j = 0; j < 2; ++j) {
        for (float& x : out[j])
          x *= args.scale;
        store_c(Rows{shared.outputs}, token, column + j * 8, out[j], lane);
      }
#pragma unroll
      for (int c = 0; c < kBlocks; ++c) {
        multiply_columns(state[c], shared.decays[token / kUnit] + c * kUnit, lane);
        k_by_token_smem.load(b_reg, token, c * kUnit);
        multiply(state[c], v_reg, b_reg);
      }
    }
  }
  __syncthreads();  // the last outputs are in shared memory
  send_outputs((args.T - 1) / kTokens * kTokens);
}

void wkv(const Args& args) {
  require_plain_wkv(args);
  if (args.B == 0 || args.T == 0) return;
  ladder::cuda::allow_shared_memory("wkv_pairs", wkv_pairs, sizeof(Shared));
  wkv_pairs<<<static_cast<unsigned>(args.B * args.H), kThreads, sizeof(Shared)>>>(args);
  CUDA_CHECK(cudaGetLastError());
}

const ladder::Registration registration{
    {.name = "wkv_pairs",
     .device = ladder::DeviceKind::kCuda,
     .bf16_arithmetic = ladder::Arithmetic::kBf16Operands,
     .units = ladder::Units::kTensorCores,
     .fma_share = 2.0 / 3,  // one product into the state and one out of it
     .launchers = ladder::launchers<ladder::Wkv>(wkv)}};

}  // namespace
}  // namespace chunkwise
