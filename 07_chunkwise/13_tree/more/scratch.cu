// 07 chunkwise, the tree: WKV on tensor cores, whose scores are products of matrices, one for each level of a tree of anchors.
// Change: from 07.12: a unit is cut into blocks of 1, 2, 4, 8 tokens; between a block and its neighbour both factors of a decay are known.
// Why:    an exponential for each pair and channel was most of the work, and nothing of it was done by tensor cores.
// Needs:  K = V = 64, bf16; rows at multiples of 16 bytes; forward time, no states; tensor cores (sm_80).
// Costs:  40 products for the scores of 16 tokens, of which most results are not used; q and k are rounded to bf16 on each level.
//         A NaN in v_s reaches its column of o in all of its 16 tokens. See README for what was measured.
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
static_assert(kWarps == kUnits && kChannels == 2 * kWarpSize);

struct alignas(128) Stage {
  bfloat16 q[kTokens * kChannels], k[kTokens * kChannels];  // then q~ and k~
  bfloat16 v[kTokens * kChannels], log_w[kTokens * kChannels];
};
struct Shared {
  Stage stages[2];  // one is on its way
  bfloat16 outputs[kTokens * kChannels];
  bfloat16 scores[kUnit * kChannels];  // of the units, side by side
  float decays[kUnits][kChannels];     // of a whole unit
  float u[kChannels];
};

// A lane's two channels of a unit, which is cut into blocks of tokens. Of each token: q, with the decays from its block's beginning
// to before it; k, with those behind it up to its block's end; and of a block's last token the decay of the whole block.
struct Blocks {
  float q[kUnit][2], k[kUnit][2], decay[kUnit][2];
};

// Joins neighbouring blocks of `size` tokens. All factors are decays, at most 1: what underflows has been forgotten.
__device__ void join(Blocks& blocks, int size) {
  // TODO(1): roughly 14 lines; in both channels of the lane each left block is joined with the right one beside it: their k, their q, and the decay
  // TODO(1): of the joined block. budget: a multiplication for each number that changes, no exponential.
}

// The product of all queries and keys. Of it the scores of keys in a left block of `size` tokens with queries in the right one beside
// it: both are measured from the border between the two. With size 0, of each token with itself.
__device__ void take_level(Accumulator (&scores)[2], Rows q_smem, Rows k_smem, int size, int lane) {
  // TODO(1): roughly 14 lines; all queries times all keys, 16 channels at a time; then each element of the product that is a score of this level goes
  // TODO(1): to its place. budget: eight loads of matrices, eight instructions of the tensor cores, no other access to memory.
}

// What a warp does with a unit before anybody knows the state. A lane has two channels.
__device__ void prepare(Shared& shared, Stage& stage, int unit, int lane) {
  const Rows q_smem = Rows{stage.q}.below(unit * kUnit), k_smem = Rows{stage.k}.below(unit * kUnit);
  const Rows log_w_smem = Rows{stage.log_w}.below(unit * kUnit);  // then q times the bonus
  const int ik = 2 * lane;
  Blocks blocks;
  // TODO(2): roughly 13 lines; blocks of one token: for each token its q, its k and exp(log_w) to `blocks`, and q u over its log_w; then all lanes of
  // TODO(2): the warp see q u. budget: three loads a token, and one; one factor for a token and channel.
  Accumulator scores[2] = {};
  // TODO(3): roughly 1 line; the scores of each token with itself, of q u and k. budget: eight instructions of the tensor cores.
  const auto climb = [&](int size) {
    // TODO(3): roughly 7 lines; a level, from blocks of `size` on: its scores; the join; then q and k of the joined blocks, where q and k lie. First
    // TODO(3): all lanes have read the old ones, at last all see the new ones. budget: no load but those of the product.
  };
  // TODO(3): roughly 4 lines; all four levels; the decays of the unit to shared.decays; its 16 x 16 scores to shared.scores, from column unit * kUnit
  // TODO(3): on. budget: no load.
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
  // Tokens that are not there become zeros, and their decays 1: the state stays as it is.
  const auto fetch = [&](std::int64_t t) {
    // TODO(4): roughly 11 lines; one group of copies of the stage from token t on: q, k, v and log_w, by copy_rows_async: rows_from(t) rows of
    // TODO(4): kChannels elements, zeros below them. log_w has strides of its own, 0 where all tokens have the same decays. budget: one asynchronous
    // TODO(4): copy for 16 bytes.
  };
  const auto send_outputs = [&](std::int64_t t) {
    // TODO(4): roughly 2 lines; rows_from(t) rows of shared.outputs to o, from token t on, by write_rows. budget: one store for 16 bytes.
  };

  // This warp's columns of the state, transposed: state[c] has rows of V and columns of K, 16 c and on.
  Accumulator state[kBlocks][2] = {};
  // TODO(5): roughly 2 lines; the first stage is asked for; u of this head to shared.u. budget: one load for each element of u.
  for (std::int64_t t0 = 0; t0 < args.T; t0 += kTokens) {
    Stage& stage = shared.stages[t0 / kTokens % 2];
    // TODO(5): roughly 4 lines; the stage is here, and all threads have left the one before; ask for the next one, send the outputs of the one
    // TODO(5): before, where there are such. budget: one barrier.
    prepare(shared, stage, warp, lane);
    // TODO(5): roughly 1 line; all units are prepared. budget: one barrier.

    // Outputs are q~ S, with the channels as inner index, and scores v; the state takes v^T k~, with the tokens.
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
  // TODO(5): roughly 2 lines; the outputs of the last stage. budget: one barrier.
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
     .fma_share = 2.0 / 3,  // a product into the state and one out of it
     .launchers = ladder::launchers<ladder::Wkv>(wkv)}};

}  // namespace
}  // namespace chunkwise
