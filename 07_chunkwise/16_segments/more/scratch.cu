// 07 chunkwise, segments: WKV on tensor cores, where few heads would leave most of the device without work.
// Change: from 07.13: time is cut into segments. All are walked from an empty state, a scan finds where each starts, all are walked again.
// Why:    a head was one block, so that 8 heads kept 8 multiprocessors busy, however long the sequence was.
// Needs:  K = V = 64, bf16; rows at multiples of 16 bytes; forward time; states may be updated in place; tensor cores (sm_80).
// Costs:  everything is computed twice; for each segment K x V floats of states are written twice and read twice. A NaN in v_s
//         reaches its column of o in all of its 16 tokens. See README for what was measured.
#include <cuda_pipeline.h>
#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>

#include "07_chunkwise/plain_wkv.hpp"
#include "common/core/bfloat16.hpp"
#include "common/core/registry.hpp"
#include "common/cuda/call.hpp"
#include "common/cuda/check.hpp"
#include "common/cuda/decay.hpp"
#include "common/cuda/multiprocessors.hpp"
#include "common/cuda/scratch.hpp"
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

constexpr int kNumbers = kChannels * kChannels;  // of a state
constexpr std::int64_t kFewestStages = 2;        // a shorter segment is not worth its second walk

// Time, cut into `count` segments of `steps` tokens. In memory segment 0 of all heads comes first, then segment 1.
// states: (count, B * H, K, V), what a segment makes of an empty state; from the scan on, the state that it starts from.
// decays: (count, B * H, K), of all tokens of a segment.
struct Segments {
  std::int64_t count, steps;
  float *states, *decays;
};

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
  const Rows log_w_smem = Rows{stage.log_w}.below(unit * kUnit);  // then q times the bonus
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
  __syncwarp();  // the bonus of all channels is here
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
  // TODO(1): roughly 3 lines; what the walk reads of the unit: its decays, to shared.decays; its 16 x 16 scores, to shared.scores, from column unit
  // TODO(1): * kUnit on. budget: no load.
}

__device__ void multiply_columns(Accumulator (&x)[2], const float* factors_smem, int lane) {
  // TODO(1): roughly 8 lines; each sum of x times the factor of its column; x[1] has the eight columns to the right. budget: two loads.
}

// A block walks a segment of a head. The first time it starts from an empty state, and keeps only what the segment leaves.
__global__ void __launch_bounds__(kThreads, 2) walk_segment(Args args, Segments cut, bool outputs) {
  extern __shared__ uint4 smem[];
  Shared& shared = *reinterpret_cast<Shared*>(smem);
  const int tid = static_cast<int>(threadIdx.x);
  const int lane = tid % kWarpSize, warp = tid / kWarpSize, column = warp * kUnit;
  const std::int64_t b = blockIdx.x / args.H, h = blockIdx.x % args.H;
  const std::int64_t block = std::int64_t{blockIdx.y} * gridDim.x + blockIdx.x;
  const std::int64_t first = blockIdx.y * cut.steps, end = min(first + cut.steps, args.T);
  const std::int64_t stride = args.H * kChannels;

  // TODO(2): roughly 4 lines; two lambdas that the copies below use: where this head's row of token t begins in q, k, v and o; how many rows a
  // TODO(2): stage from token t on has. budget: no access to memory.
  // Tokens that are not there become zeros, and their decays 1: the state stays as it is.
  const auto fetch = [&](std::int64_t t) {
    // TODO(2): roughly 11 lines; one group of copies of the stage from token t on: q, k, v and log_w, by copy_rows_async, with zeros below the last
    // TODO(2): row. log_w has strides of its own, 0 where all tokens have the same decays. budget: one asynchronous copy for 16 bytes.
  };
  const auto send_outputs = [&](std::int64_t t) {
    // TODO(2): roughly 2 lines; the stage of outputs from token t on to o, by write_rows. budget: one store for 16 bytes.
  };

  // This warp's columns of the state, transposed: state[c] has rows of V and columns of K, 16 c and on.
  Accumulator state[kBlocks][2] = {};
  // TODO(3): roughly 11 lines; the segment's decay of channel tid; what goes over a lane's numbers of the state and their places in memory. Then:
  // TODO(3): the first stage is asked for; with outputs, the state that this segment starts from; u of this head to shared.u. budget: each number
  // TODO(3): of the state is loaded once, with outputs only; one load for each element of u.
  for (std::int64_t t0 = first; t0 < end; t0 += kTokens) {
    Stage& stage = shared.stages[t0 / kTokens % 2];
    // TODO(3): roughly 4 lines; the stage is here, and all threads have left the one before; ask for the next one of this segment, send the outputs
    // TODO(3): of the one before, where they are asked for. budget: one barrier.
    prepare(shared, stage, warp, lane);
    // TODO(3): roughly 3 lines; all units are prepared; the segment's decay of channel tid goes on. budget: one barrier, no access to global
    // TODO(3): memory.

    // Outputs are q~ S, with the channels as inner index, and scores v; the state takes v^T k~, with the tokens.
    const MkToA q_smem(Rows{stage.q}, 0, lane);
    // TODO(1): roughly 28 lines; what loads the scores, k and v, as q_smem loads q. Then for each unit of the stage its outputs, (q~ S + scores v)
    // TODO(1): times the scale, to shared.outputs, and the state takes the unit: times the unit's decays, then v^T k~. budget: 18 instructions of
    // TODO(1): the tensor cores, ten loads of matrices.
  }
  // TODO(3): roughly 4 lines; with outputs, those of the last stage; without them, what the segment leaves: its state and its decays. budget: one
  // TODO(3): barrier, one store for each number of the state, without outputs only.
}

// A thread takes one number of a head's state from segment to segment. It alone reads this number of the initial state and writes it
// to the final state: both may be one array.
__global__ void scan_segments(Args args, Segments cut) {
  // TODO(4): roughly 9 lines; this thread's number of a head's state, from the initial state through all segments to the final state. Each of the
  // TODO(4): two may be a null pointer: then it starts from 0, or is not stored. budget: for each segment two loads and a store.
}

void wkv(const Args& args) {
  require_plain_wkv(args, States::kAllowed);
  if (args.B == 0) return;
  // TODO(5): roughly 6 lines; as many segments of whole stages as the device has room for, with two blocks on each multiprocessor, shared by all
  // TODO(5): heads; but of kFewestStages at least. Then memory for their states and decays. budget: no launch.
  ladder::cuda::allow_shared_memory("wkv_segments", walk_segment, sizeof(Shared));
  // TODO(5): roughly 11 lines; a walk without outputs, the scan, a walk with outputs; with T = 0 there is only the scan. budget: three launches.
}

const ladder::Registration registration{
    {.name = "wkv_segments",
     .device = ladder::DeviceKind::kCuda,
     .bf16_arithmetic = ladder::Arithmetic::kBf16Operands,
     .units = ladder::Units::kTensorCores,
     .fma_share = 2.0 / 3,  // a product into the state and one out of it
     .launchers = ladder::launchers<ladder::Wkv>(wkv)}};

}  // namespace
}  // namespace chunkwise
