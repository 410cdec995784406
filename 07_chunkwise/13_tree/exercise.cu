// 07 chunkwise, the tree: WKV on tensor cores, with scores as products for each level of a tree.
// Change: from 07.12. A sub-chunk is cut into blocks of 1, 2, 4, 8 tokens, and the border of two
//         neighbouring blocks splits a decay into two factors.
// Why:    an exponential for each pair and channel was most of the work, and tensor cores did none
//         of it.
// Needs:  K = V = 64, bf16, rows at multiples of 16 bytes, forward time, no states, tensor cores
//         (sm_80).
// Costs:  40 products for the scores of 16 tokens, most of whose results are not used. q and k are
//         rounded to bf16 on each level. A NaN in v_s reaches its column of o in all of its 16
//         tokens. See README for measurements.
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
static_assert(kWarps == kUnits && kChannels == 2 * kWarpSize);

struct alignas(128) Stage {
  bfloat16 q[kTokens * kChannels], k[kTokens * kChannels];  // later q~ and k~
  bfloat16 v[kTokens * kChannels], log_w[kTokens * kChannels];
};
struct Shared {
  Stage stages[2];  // double buffer, one in use, one in flight
  bfloat16 outputs[kTokens * kChannels];
  bfloat16 scores[kUnit * kChannels];  // of the sub-chunks, side by side
  float decays[kUnits][kChannels];     // of a whole sub-chunk
  float u[kChannels];
};

// A lane's two channels of a sub-chunk, cut into blocks of tokens. Each token holds q with the
// decays from its block's start to before it, and k with the decays after it up to its block's end.
// A block's last token also holds the decay of the whole block.
struct Blocks {
  float q[kUnit][2], k[kUnit][2], decay[kUnit][2];
};

// Joins neighbouring blocks of `size` tokens. Factors are decays, at most 1, and may underflow.
__device__ void join(Blocks& blocks, int size) {
#pragma unroll
  for (int left = 0; left < kUnit; left += 2 * size) {
    const int right = left + size, last = right + size - 1;
#pragma unroll
    for (int e = 0; e < 2; ++e) {
      const float of_left = blocks.decay[right - 1][e], of_right = blocks.decay[last][e];
#pragma unroll
      for (int i = 0; i < size; ++i) {
        // TODO(1): roughly 2 lines; decay one k and one q for the joined block; budget: one
        // TODO(1): multiplication each, and no exponential.
      }
      // TODO(1): roughly 1 line; store the decay of the joined block.
    }
  }
}

// Multiplies all queries and keys, and keeps the scores of keys in a left block of `size` tokens
// with queries in the right block next to it. Both are relative to the border between them. With
// size 0 it keeps the scores of each token with itself.
__device__ void take_level(Accumulator (&scores)[2], Rows q_smem, Rows k_smem, int size, int lane) {
  Accumulator product[2] = {};
#pragma unroll
  for (int c = 0; c < kBlocks; ++c) {
    FragmentB<bfloat16> k_reg[2];
    load_b_nk(k_reg, k_smem, 0, c * kUnit, lane);
    multiply(product, load_a_mk(q_smem, 0, c * kUnit, lane), k_reg);
  }
#pragma unroll
  for (int n = 0; n < 8; ++n) {
    const auto [l, column] = accumulator_place(lane, n % 4);
    const int s = n / 4 * 8 + column;
    // TODO(2): roughly 2 lines; if the lane's result n is a score of this level, copy it to
    // TODO(2): `scores`; budget: no access to memory.
  }
}

// Computes all of a sub-chunk that does not need the state. A lane has two channels.
__device__ void prepare(Shared& shared, Stage& stage, int unit, int lane) {
  const Rows q_smem = Rows{stage.q}.below(unit * kUnit), k_smem = Rows{stage.k}.below(unit * kUnit);
  const Rows log_w_smem = Rows{stage.log_w}.below(unit * kUnit);  // later q times the bonus
  const int ik = 2 * lane;
  Blocks blocks;
  float u[2], log_w[2], bonus[2];
  copy<2>(u, shared.u + ik);
#pragma unroll
  for (int t = 0; t < kUnit; ++t) {
    copy<2>(log_w, log_w_smem.at(t, ik));
    copy<2>(blocks.q[t], q_smem.at(t, ik)), copy<2>(blocks.k[t], k_smem.at(t, ik));
    for (int e = 0; e < 2; ++e) {
      blocks.decay[t][e] = decay_factor(log_w[e]);
      bonus[e] = blocks.q[t][e] * u[e];
    }
    copy<2>(log_w_smem.at(t, ik), bonus);
  }
  __syncwarp();  // the bonus of all channels is in shared memory
  Accumulator scores[2] = {};
  take_level(scores, log_w_smem, k_smem, 0, lane);
  const auto climb = [&](int size) {
    take_level(scores, q_smem, k_smem, size, lane);
    join(blocks, size);
    __syncwarp();  // all lanes have read q and k
#pragma unroll
    for (int t = 0; t < kUnit; ++t)
      copy<2>(q_smem.at(t, ik), blocks.q[t]), copy<2>(k_smem.at(t, ik), blocks.k[t]);
    __syncwarp();  // q and k are decayed from and to the larger blocks' borders
  };
  climb(1), climb(2), climb(4), climb(8);
  copy<2>(shared.decays[unit] + ik, blocks.decay[kUnit - 1]);
  store_c(Rows{shared.scores}, 0, unit * kUnit, scores[0], lane);
  store_c(Rows{shared.scores}, 0, unit * kUnit + 8, scores[1], lane);
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

__global__ void __launch_bounds__(kThreads, 2) wkv_tree(const Args args) {
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
  ladder::cuda::allow_shared_memory("wkv_tree", wkv_tree, sizeof(Shared));
  wkv_tree<<<static_cast<unsigned>(args.B * args.H), kThreads, sizeof(Shared)>>>(args);
  CUDA_CHECK(cudaGetLastError());
}

const ladder::Registration registration{
    {.name = "wkv_tree",
     .device = ladder::DeviceKind::kCuda,
     .bf16_arithmetic = ladder::Arithmetic::kBf16Operands,
     .units = ladder::Units::kTensorCores,
     .fma_share = 2.0 / 3,  // one product into the state and one out of it
     .launchers = ladder::launchers<ladder::Wkv>(wkv)}};

}  // namespace
}  // namespace chunkwise
