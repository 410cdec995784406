// 07 chunkwise, a decay per head: linear attention whose state shrinks by one factor a head and step, on tensor cores, in bf16.
// Change: rewrite. 10's walk with one shape and one pass; the mask multiplies each score by the decays between its two tokens.
// Why:    a decay that all channels share needs no product of its own: it is a factor of a score, of a row of o, of v and of the state.
// Needs:  K = V = 64, bf16, log_w in fp32; rows at multiples of 16 bytes; forward time, no states; tensor cores (sm_80).
// Costs:  15 factors a lane and unit of 16 tokens, prepared by each of the four warps; a block has a head, so few heads leave a GPU idle.
//         See README for what was measured.
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
constexpr int kTokens = 64;      // of a stage: four units
constexpr int kWarps = kBlocks;  // each has 16 value columns, and all rows of the state
constexpr int kThreads = kWarps * kWarpSize;

// Stands for -infinity, of which no two can be subtracted: exp of it is 0 in fp32. A lower one would take more digits of a sum.
constexpr float kForgetsAll = -104;

constexpr std::uint32_t kUpper = 0xffff0000u;  // half of a register

struct alignas(128) Stage {
  bfloat16 q[kTokens * kChannels], k[kTokens * kChannels], v[kTokens * kChannels];
  float log_w[kTokens];  // then their sums: see sum_log_decays
};
struct Shared {
  Stage stages[2];                           // one is on its way
  bfloat16 outputs[2][kTokens * kChannels];  // one is on its way out
};

// log_w of each token becomes the sum of log_w from its unit's first token to this one. Each thread sums what it has copied itself.
__device__ void sum_log_decays(float* log_w_smem, int token) {
  // TODO(1): roughly 6 lines; what a warp can do for two units at once: log_w_smem[token] becomes the unit's running sum up to this token; a
  // TODO(1): log_w below kForgetsAll counts as kForgetsAll; budget: four shuffles.
}

// TODO(1): roughly 50 lines; what a lane needs of a unit's sums; the mask; the decays between the state and the unit's tokens; v^T with what
// TODO(1): is left of each token at the unit's end; budget: seven reads of shared memory and 15 factors for a unit.

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
  // Tokens that are not there become zeros, and their decays 1: the state stays as it is.
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

  // This warp's columns of the state, transposed: state[c] has rows of V and columns of K, 16 c and on.
  Accumulator state[kBlocks][2] = {};
  fetch(0);
  for (std::int64_t t0 = 0; t0 < args.T; t0 += kTokens) {
    Stage& stage = shared.stages[t0 / kTokens % 2];
    __pipeline_wait_prior(0);
    if (tid < kTokens) sum_log_decays(stage.log_w, tid);
    __syncthreads();  // the stage and its sums are here, and all have left the one before
    if (t0 + kTokens < args.T) fetch(t0 + kTokens);
    if (t0 > 0) send_outputs(t0 - kTokens);

    // Scores are q k^T, with the channels as inner index; the state takes v^T k, with the tokens.
    const MkToA q_smem(Rows{stage.q}, 0, lane);
    const NkToB k_smem(Rows{stage.k}, 0, lane);
    const KnToB k_by_token_smem(Rows{stage.k}, 0, lane);
    const KmToA v_by_token_smem(Rows{stage.v}, 0, lane);
    const Rows outputs{shared.outputs[t0 / kTokens % 2]};
#pragma unroll
    for (int token = 0; token < kTokens; token += kUnit) {
      // TODO(1): roughly 27 lines; the unit that begins at `token`: its scores, masked; q S with the decays since the unit began; the outputs, times
      // TODO(1): scale, to `outputs`; what is left of the state and of the unit's tokens; budget: 26 instructions of the tensor cores.
    }
  }
  __syncthreads();  // the last outputs are here
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
