// 07 chunkwise, pairs: WKV on tensor cores, with a decay for each channel and pair of tokens.
// Change: rewrite. 11b's walk; each warp first prepares a unit: q~, k~, and the scores, of which each term has a factor of its own.
// Why:    a decay for each channel stands inside of the score's sum, so it cannot be a mask on the scores.
// Needs:  K = V = 64, bf16; rows at multiples of 16 bytes; forward time, no states; tensor cores (sm_80).
// Costs:  12,288 exponentials for the scores of 16 tokens, none of them on tensor cores. A NaN in v_s reaches its column of o in all
//         of its 16 tokens. See README for what was measured.
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
constexpr int kTokens = 64;  // of a stage: four units
constexpr int kUnits = kTokens / kUnit;
// Each warp prepares a unit; then it has 16 value columns, and all rows of the state.
constexpr int kWarps = kBlocks;
constexpr int kThreads = kWarps * kWarpSize;
constexpr int kSumStride = kChannels + 4;  // padded: eight rows of a column lie in different banks
static_assert(kWarps == kUnits && kChannels == 2 * kWarpSize);

// Stands for -infinity, of which no two can be subtracted: exp of it is 0 in fp32. A lower one would take more digits of a sum.
constexpr float kForgetsAll = -104;

struct alignas(128) Stage {
  bfloat16 q[kTokens * kChannels], k[kTokens * kChannels];  // then q~ and k~
  bfloat16 v[kTokens * kChannels], log_w[kTokens * kChannels];
};
struct Shared {
  Stage stages[2];  // one is on its way
  bfloat16 outputs[kTokens * kChannels];
  bfloat16 scores[kUnit * kChannels];            // of the units, side by side
  float sums[kUnits][(kUnit + 1) * kSumStride];  // row t: of log_w of a unit's tokens before t
  float decays[kUnits][kChannels];               // of a whole unit
  float u[kChannels];
};

// The scores of a unit. Between query l and an earlier key s lie the decays of the tokens behind s and before l. In its own step
// a key has the bonus instead.
__device__ void score_pairs(Accumulator (&scores)[2], Rows q_smem, Rows k_smem,
                            const float* sums_smem, const float* u_smem, int lane) {
#pragma unroll 2
  for (int ik = 0; ik < kChannels; ik += 2) {
    // A lane has two rows and four columns of the scores.
    float u[2], q[2][2], before_query[2][2], k[4][2], behind_key[4][2];
    // TODO(1): roughly 13 lines; channels ik and ik + 1 of what the lane's scores need: of u; for its two queries l, of q and of the sums before l;
    // TODO(1): for its four keys s, of k and of the sums behind s. accumulator_place says which; keys 2 and 3 lie eight further to the right.
    // TODO(1): budget: 13 loads, no bank conflict.
#pragma unroll
    for (int n = 0; n < 8; ++n) {
      const int j = n / 4, i = n % 4, query = i / 2, key = 2 * j + i % 2;
      // TODO(2): roughly 8 lines; nothing, if all keys of this half are later than the query. Else both channels' terms to scores[j][i]: with the
      // TODO(2): decays between key and query, or with the bonus if the key is the query's own. budget: one factor, no access to memory.
    }
  }
  // TODO(2): roughly 6 lines; the score of a later key becomes 0, whatever stands there. budget: no access to memory.
}

// q becomes q~: what it reads of the state before the unit. k becomes k~: what is left of it behind the unit.
__device__ void decay_rows(Rows q_smem, Rows k_smem, float* decays_smem, const float* sums_smem,
                           int lane) {
  // TODO(3): roughly 17 lines; a lane has channels 2 lane and 2 lane + 1. In their places, q of each token becomes q~, and k becomes k~; then the
  // TODO(3): decays of the whole unit go to decays_smem. budget: four loads a token, and one; two factors for a token and channel, and one.
}

// What a warp does with a unit before anybody knows the state.
__device__ void prepare(Shared& shared, Stage& stage, int unit, int lane) {
  const Rows q_smem = Rows{stage.q}.below(unit * kUnit), k_smem = Rows{stage.k}.below(unit * kUnit);
  const Rows log_w_smem = Rows{stage.log_w}.below(unit * kUnit);
  const int ik = 2 * lane;  // a lane sums two channels
  float* const sums_smem = shared.sums[unit];
  // TODO(4): roughly 10 lines; row t of the sums, from 0 to kUnit: channels ik and ik + 1 of log_w, added up over the tokens before t. A log_w below
  // TODO(4): kForgetsAll counts as kForgetsAll, a NaN stays a NaN. Then all lanes of the warp see them. budget: one load a token.
  Accumulator scores[2] = {};
  score_pairs(scores, q_smem, k_smem, sums_smem, shared.u, lane);
  store_c(Rows{shared.scores}, 0, unit * kUnit, scores[0], lane);
  store_c(Rows{shared.scores}, 0, unit * kUnit + 8, scores[1], lane);
  __syncwarp();  // all lanes have read q and k
  decay_rows(q_smem, k_smem, shared.decays[unit], sums_smem, lane);
}

__device__ void multiply_columns(Accumulator (&x)[2], const float* factors_smem, int lane) {
  // TODO(5): roughly 8 lines; each sum of x times the factor of its column; x[1] has the eight columns to the right. budget: two loads.
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
  // Tokens that are not there become zeros, and their decays 1: the state stays as it is.
  const auto fetch = [&](std::int64_t t) {
    Stage& stage = shared.stages[t / kTokens % 2];
    const auto copy = [&](bfloat16* to, const bfloat16* from, std::int64_t step) {
      copy_rows_async<kTokens, kThreads>(Rows{to}, from, step, rows_from(t), kChannels, true, tid);
    };
    copy(stage.q, args.q + first_of(t), stride);
    copy(stage.k, args.k + first_of(t), stride);
    copy(stage.v, args.v + first_of(t), stride);
    // The strides of log_w are 0 where all tokens have the same decays.
    copy(stage.log_w,
         args.log_w + b * args.log_w_stride_B + t * args.log_w_stride_T + h * kChannels,
         args.log_w_stride_T);
    __pipeline_commit();
  };
  const auto send_outputs = [&](std::int64_t t) {
    write_rows<kTokens, kThreads>(args.o + first_of(t), Rows{shared.outputs}, stride, rows_from(t),
                                  kChannels, true, tid);
  };

  // This warp's columns of the state, transposed: state[c] has rows of V and columns of K, 16 c and on.
  Accumulator state[kBlocks][2] = {};
  fetch(0);
  if (tid < kChannels) shared.u[tid] = ladder::cuda::load(args.u + h * kChannels + tid);
  for (std::int64_t t0 = 0; t0 < args.T; t0 += kTokens) {
    Stage& stage = shared.stages[t0 / kTokens % 2];
    __pipeline_wait_prior(0);
    __syncthreads();  // the stage is here, and all have left the one before
    if (t0 + kTokens < args.T) fetch(t0 + kTokens);
    if (t0 > 0) send_outputs(t0 - kTokens);
    prepare(shared, stage, warp, lane);
    __syncthreads();  // all units are prepared, and the outputs before are on their way

    // Outputs are q~ S, with the channels as inner index, and scores v; the state takes v^T k~, with the tokens.
    const MkToA q_smem(Rows{stage.q}, 0, lane);
    const MkToA scores_smem(Rows{shared.scores}, 0, lane);
    const KnToB k_by_token_smem(Rows{stage.k}, 0, lane);
    const KmToA v_by_token_smem(Rows{stage.v}, 0, lane);
#pragma unroll
    for (int token = 0; token < kTokens; token += kUnit) {
      // TODO(5): roughly 22 lines; the unit that begins at `token`: scale (q~ S + scores v) to shared.outputs; then the state times the decays of
      // TODO(5): the unit, and v^T k~ added to it. budget: 18 instructions of the tensor cores, ten loads of matrices.
    }
  }
  __syncthreads();  // the last outputs are here
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
     .fma_share = 2.0 / 3,  // a product into the state and one out of it
     .launchers = ladder::launchers<ladder::Wkv>(wkv)}};

}  // namespace
}  // namespace chunkwise
