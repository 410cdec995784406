// 07 chunkwise, places used again: WKV on tensor cores, with a place in shared memory only for what is needed at the time.
// Change: from 07.13: v and log_w have one place each, which is filled in the half of a round that does not read it; o takes v's place.
// Why:    two places for all four inputs and one for o leave room for two blocks on a multiprocessor; now there is room for three.
// Needs:  K = V = 64, bf16; rows at multiples of 16 bytes; forward time, no states; tensor cores (sm_80).
// Costs:  for three blocks a thread may have 168 registers only, and some are spilled; what 07.13 costs.
//         See README for what was measured.
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
};
struct Shared {
  Stage stages[2];                      // read in both halves of a round: one is on its way
  bfloat16 log_w[kTokens * kChannels];  // then q times the bonus; comes while the block walks
  bfloat16 v[kTokens * kChannels];      // then o; comes while the block prepares
  bfloat16 scores[kUnit * kChannels];   // of the units, side by side
  float decays[kUnits][kChannels];      // of a whole unit
  float u[kChannels];
};

// A lane's two channels of a unit, which is cut into blocks of tokens. Of each token: q, with the decays from its block's beginning
// to before it; k, with those behind it up to its block's end; and of a block's last token the decay of the whole block.
struct Blocks {
  float q[kUnit][2], k[kUnit][2], decay[kUnit][2];
};

// Joins neighbouring blocks of `size` tokens. All factors are decays, at most 1: what underflows has been forgotten.
__device__ void join(Blocks& blocks, int size) {
#pragma unroll
  for (int left = 0; left < kUnit; left += 2 * size) {
    const int right = left + size, last = right + size - 1;
#pragma unroll
    for (int e = 0; e < 2; ++e) {
      const float of_left = blocks.decay[right - 1][e], of_right = blocks.decay[last][e];
#pragma unroll
      for (int i = 0; i < size; ++i) {
        blocks.k[left + i][e] *= of_right;
        blocks.q[right + i][e] *= of_left;
      }
      blocks.decay[last][e] = of_left * of_right;
    }
  }
}

// The product of all queries and keys. Of it the scores of keys in a left block of `size` tokens with queries in the right one beside
// it: both are measured from the border between the two. With size 0, of each token with itself.
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
    const bool taken = size == 0 ? l == s : l > s && (l ^ s) / size == 1;
    if (taken) scores[n / 4][n % 4] = product[n / 4][n % 4];
  }
}

// What a warp does with a unit before anybody knows the state. A lane has two channels.
__device__ void prepare(Shared& shared, Stage& stage, int unit, int lane) {
  const Rows q_smem = Rows{stage.q}.below(unit * kUnit), k_smem = Rows{stage.k}.below(unit * kUnit);
  const Rows log_w_smem = Rows{shared.log_w}.below(unit * kUnit);  // then q times the bonus
  const int ik = 2 * lane;
  Blocks blocks;
  // TODO(1): roughly 13 lines; blocks of one token: for each token its q, its k and exp(log_w) to `blocks`, and q u over its log_w; then all lanes of
  // TODO(1): the warp see q u. budget: three loads a token, and one; one factor for a token and channel.
  Accumulator scores[2] = {};
  take_level(scores, log_w_smem, k_smem, 0, lane);
  const auto climb = [&](int size) {
    take_level(scores, q_smem, k_smem, size, lane);
    join(blocks, size);
    __syncwarp();  // all lanes have read q and k
#pragma unroll
    for (int t = 0; t < kUnit; ++t)
      copy<2>(q_smem.at(t, ik), blocks.q[t]), copy<2>(k_smem.at(t, ik), blocks.k[t]);
    __syncwarp();  // and here they are from and to the larger blocks' borders
  };
  climb(1), climb(2), climb(4), climb(8);
  copy<2>(shared.decays[unit] + ik, blocks.decay[kUnit - 1]);
  store_c(Rows{shared.scores}, 0, unit * kUnit, scores[0], lane);
  store_c(Rows{shared.scores}, 0, unit * kUnit + 8, scores[1], lane);
}

__device__ void multiply_columns(Accumulator (&x)[2], const float* factors_smem, int lane) {
  // TODO(2): roughly 8 lines; each sum of x times the factor of its column; x[1] has the eight columns to the right. budget: two loads.
}

__global__ void __launch_bounds__(kThreads, 3) wkv_places_used_again(const Args args) {
  extern __shared__ uint4 smem[];
  Shared& shared = *reinterpret_cast<Shared*>(smem);
  const int tid = static_cast<int>(threadIdx.x);
  const int lane = tid % kWarpSize, warp = tid / kWarpSize, column = warp * kUnit;
  const std::int64_t b = blockIdx.x / args.H, h = blockIdx.x % args.H;
  const std::int64_t stride = args.H * kChannels, first = b * args.T * stride + h * kChannels;
  // TODO(3): roughly 7 lines; two lambdas that the copies below use: how many rows a stage from token t on has; a copy of so many rows of kChannels
  // TODO(3): elements to a place, by copy_rows_async, with zeros below them. budget: one asynchronous copy for 16 bytes.
  // Each asks for one group of copies. Behind the last token it is empty, because waits count groups.
  const auto fetch_q_k = [&](std::int64_t t) {
    // TODO(3): roughly 4 lines; a group: q and k of the stage from token t on, if there is one; shared.stages are filled by turns. budget: two
    // TODO(3): copies.
  };
  const auto fetch_log_w = [&](std::int64_t t) {
    // TODO(3): roughly 3 lines; a group: log_w of that stage, if there is one. Its strides are 0 where all tokens have the same decays. budget: one
    // TODO(3): copy.
  };
  const auto fetch_v = [&](std::int64_t t) {
    // TODO(3): roughly 2 lines; a group: v of the stage from token t on; there always is one. budget: one copy.
  };
  const auto send_outputs = [&](std::int64_t t) {
    // TODO(3): roughly 2 lines; the stage of outputs from token t on, which lies in the place of v, to o. budget: one store for 16 bytes.
  };

  // This warp's columns of the state, transposed: state[c] has rows of V and columns of K, 16 c and on.
  Accumulator state[kBlocks][2] = {};
  // TODO(4): roughly 2 lines; ask for q, k and log_w of the first stage; u of this head to shared.u. budget: one load for each element of u.
  for (std::int64_t t0 = 0; t0 < args.T; t0 += kTokens) {
    Stage& stage = shared.stages[t0 / kTokens % 2];
    // TODO(4): roughly 5 lines; wait, meet, send the outputs before, ask for this stage's v and for the next q and k. budget: one barrier.
    prepare(shared, stage, warp, lane);
    // TODO(4): roughly 3 lines; wait for v and for nothing that is not needed yet, meet, ask for the next log_w. budget: one barrier; of the
    // TODO(4): copies of a later stage only those of v and log_w are waited for before the next barrier.

    // Outputs are q~ S, with the channels as inner index, and scores v; the state takes v^T k~, with the tokens.
    const MkToA q_smem(Rows{stage.q}, 0, lane);
    const MkToA scores_smem(Rows{shared.scores}, 0, lane);
    const KnToB k_by_token_smem(Rows{stage.k}, 0, lane);
    const KmToA v_by_token_smem(Rows{shared.v}, 0, lane);
#pragma unroll
    for (int token = 0; token < kTokens; token += kUnit) {
      const auto v_reg = v_by_token_smem.load(token, column);
      // TODO(5): roughly 2 lines; all lanes of the warp have read these columns of v: outputs may come there. The sums `out` begin as zeros. budget:
      // TODO(5): no barrier of the block.
      FragmentB<bfloat16> b_reg[2];
      // TODO(5): roughly 7 lines; q~ S + scores v of the unit that begins at `token`, to `out`. budget: ten instructions of the tensor cores, five
      // TODO(5): loads of matrices.
#pragma unroll
      for (int j = 0; j < 2; ++j) {
        // TODO(5): roughly 3 lines; these eight columns of `out` times the scale, over v of the same tokens and columns. budget: two stores for a
        // TODO(5): lane.
      }
#pragma unroll
      for (int c = 0; c < kBlocks; ++c) {
        // TODO(2): roughly 3 lines; 16 channels of the state: times their decays of the unit, and then v^T k~ is added. budget: two instructions of
        // TODO(2): the tensor cores, one load of matrices, two loads of decays.
      }
    }
  }
  // TODO(4): roughly 2 lines; the outputs of the last stage. budget: one barrier.
}

void wkv(const Args& args) {
  require_plain_wkv(args);
  if (args.B == 0 || args.T == 0) return;
  ladder::cuda::allow_shared_memory("wkv_places_used_again", wkv_places_used_again, sizeof(Shared));
  wkv_places_used_again<<<static_cast<unsigned>(args.B * args.H), kThreads, sizeof(Shared)>>>(args);
  CUDA_CHECK(cudaGetLastError());
}

const ladder::Registration registration{
    {.name = "wkv_places_used_again",
     .device = ladder::DeviceKind::kCuda,
     .bf16_arithmetic = ladder::Arithmetic::kBf16Operands,
     .units = ladder::Units::kTensorCores,
     .fma_share = 2.0 / 3,  // a product into the state and one out of it
     .launchers = ladder::launchers<ladder::Wkv>(wkv)}};

}  // namespace
}  // namespace chunkwise
