// 07 chunkwise, GLA in five steps: gated linear attention with a chain over chunks, not over steps.
// Change: rewrite. Inside a chunk everything is a matrix product. The state is read and written
//         once per chunk.
// Why:    matrix products have no chain, and tensor cores compute them. These kernels use none yet,
//         to be easy to read.
// Needs:  K up to 256, any V, initial and final state, reverse, fp32. log_w from 0 down to -inf.
// Costs:  chunk / 2 scores per step and head, and five passes over memory, of which the chapter's
//         fastest kernel needs only one.
//         See README for why every exponent is at most 0.
#include "07_chunkwise/05_gla_steps/gla_steps.hpp"

#include <cuda_runtime.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>

#include "common/core/errors.hpp"
#include "common/core/lists.hpp"
#include "common/core/registry.hpp"
#include "common/cuda/check.hpp"
#include "common/cuda/scratch.hpp"

namespace chunkwise::gla_steps {
namespace {

using ladder::WkvArgs;
using ladder::cuda::Scratch;

constexpr int kThreads = 256;

// Small enough that no product of sizes overflows before it is rejected.
constexpr std::int64_t kMostChunk = 65536;
constexpr std::int64_t kMostSteps = std::int64_t{1} << 30;

// Its exp is 0 in fp32, so it replaces everything stronger, -inf included, and no -inf reaches a
// difference.
constexpr float kForgetsAll = -150.0f;

// ---- Shared by all steps ----

// The row of q, k, v, log_w and o that holds a head's step. `head` is b * H + h.
__device__ std::int64_t token(const WkvArgs& args, std::int64_t head, std::int64_t step) {
  const std::int64_t t = args.reverse ? args.T - 1 - step : step;
  return (head / args.H * args.T + t) * args.H + head % args.H;
}

// The distance to the row of the next step, because `token` divides, which is slow in an inner
// loop.
__device__ std::int64_t rows_per_step(const WkvArgs& args) {
  return args.reverse ? -args.H : args.H;
}

// The decay of all steps after `from`, up to and including `to`. A sum over more steps is never
// larger, but rounded sums may be. Therefore the exponent is limited to 0.
__device__ float decay_between(LogSum from, LogSum to) {
  const float exponent = (to.high - from.high) + (to.low - from.low);
  return expf(exponent > 0.0f ? 0.0f : exponent);  // fminf would replace a NaN
}

__device__ float decay_since_chunk_began(LogSum sum) {
  return decay_between(LogSum{0.0f, 0.0f}, sum);
}

__device__ std::int64_t global_thread() {
  return static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x;
}

unsigned blocks_for(std::int64_t threads) {
  return static_cast<unsigned>((threads + kThreads - 1) / kThreads);
}

// ---- Step 1: the decay since the start of the chunk, in log space ----

// The rounding error of a sum is computed exactly (Knuth's two-sum), and kept.
__device__ LogSum plus(LogSum sum, float x) {
  const float high = sum.high + x;
  const float added = high - sum.high;
  const float lost = (sum.high - (high - added)) + (x - added);
  return {high, sum.low + lost};
}

// One thread per chunk and channel. Neighbouring threads have neighbouring channels.
__global__ void __launch_bounds__(kThreads) decay_cumsum_kernel(const Steps steps) {
  const WkvArgs& args = steps.args;
  const std::int64_t channel = global_thread() % args.K, chunk = global_thread() / args.K;
  const std::int64_t chunks = steps.T_p / steps.chunk;
  const std::int64_t head = chunk / chunks;
  if (head >= args.B * args.H) return;
  const std::int64_t first_step = chunk % chunks * steps.chunk;
  const float* log_w =
      args.log_w + head / args.H * args.log_w_stride_B + head % args.H * args.K + channel;

  LogSum sum{0.0f, 0.0f};
  for (std::int64_t step = first_step; step < first_step + steps.chunk; ++step) {
    if (step < args.T) {
      const std::int64_t t = args.reverse ? args.T - 1 - step : step;
      const float own = log_w[t * args.log_w_stride_T];
      sum = plus(sum, own < kForgetsAll ? kForgetsAll : own);  // fmaxf would replace a NaN
    }
    steps.log_decay[(head * steps.T_p + step) * args.K + channel] = sum;
  }
}

// ---- Step 2: q decayed since the chunk's start, and k until its end ----

// One thread per element. q is anchored at the start of the chunk, k at its end, so both exponents
// are at most 0. If k were anchored at the start as well, as in (q exp(G_t)) (k exp(-G_s)),
// exp(-G_s) would overflow.
__global__ void __launch_bounds__(kThreads) prepare_qg_kg_kernel(const Steps steps) {
  const WkvArgs& args = steps.args;
  const std::int64_t i = global_thread();  // of (B, H, T_p, K)
  const std::int64_t channel = i % args.K, row = i / args.K;
  const std::int64_t head = row / steps.T_p, step = row % steps.T_p;
  if (head >= args.B * args.H) return;
  const std::int64_t last_row = row - step % steps.chunk + steps.chunk - 1;  // of the chunk

  float qg = 0.0f, kg = 0.0f;
  if (step < args.T) {
    const LogSum sum = steps.log_decay[i], last = steps.log_decay[last_row * args.K + channel];
    const std::int64_t element = token(args, head, step) * args.K + channel;
    qg = args.q[element] * decay_since_chunk_began(sum);
    kg = args.k[element] * decay_between(sum, last);
  }
  steps.qg[i] = qg;
  steps.kg[i] = kg;
}

// ---- Step 3: between the chunks, the state ----

constexpr int kColumns = 32;  // of the state, per block: one per lane
constexpr int kWarps = kThreads / kColumns;
constexpr std::int64_t kMostColumns = 65535 * kColumns;  // as many tiles as a grid's y allows
constexpr int kAhead = 16;  // loads in flight at once, because there are few warps

// One block per head and 32 value columns. The state stays in shared memory while the block loops
// over the chunks.
__global__ void __launch_bounds__(kThreads) inter_chunk_kernel(const Steps steps) {
  extern __shared__ float state_smem[];  // (K, kColumns)
  const WkvArgs& args = steps.args;
  const int K = static_cast<int>(args.K), V = static_cast<int>(args.V);
  const int lane = threadIdx.x % kColumns, warp = threadIdx.x / kColumns;
  const int column = blockIdx.y * kColumns + lane;
  const bool has_column = column < V;
  // Other lanes recompute the last column and store nothing, because a load without a branch need
  // not wait for the previous one.
  const int iv = has_column ? column : V - 1;
  const std::int64_t head = blockIdx.x, first_row = head * steps.T_p;

  for (int ik = warp; ik < K; ik += kWarps) {
    const bool given = args.initial_state != nullptr;
    state_smem[ik * kColumns + lane] = given ? args.initial_state[(head * K + ik) * V + iv] : 0.0f;
  }

  for (std::int64_t first_step = 0; first_step < args.T; first_step += steps.chunk) {
    const std::int64_t end = first_step + steps.chunk < args.T ? first_step + steps.chunk : args.T;
    __syncthreads();  // the state is that before this chunk

    for (std::int64_t step = first_step + warp; step < end; step += kWarps) {
      const float* qg = steps.qg + (first_row + step) * K;
      float sum = 0.0f;
#pragma unroll kAhead
      for (int ik = 0; ik < K; ++ik)
        sum += qg[ik] * state_smem[ik * kColumns + lane];
      if (has_column) steps.o_inter[(first_row + step) * V + iv] = sum;
    }
    __syncthreads();  // all of the chunk's queries have read the state, which may be updated

    const std::int64_t first_token = token(args, head, first_step);
    const LogSum* last = steps.log_decay + (first_row + first_step + steps.chunk - 1) * K;
    for (int ik = warp; ik < K; ik += kWarps) {
      const LogSum sum = last[ik];
      float state = decay_since_chunk_began(sum) * state_smem[ik * kColumns + lane];
      std::int64_t v_row = first_token;
#pragma unroll kAhead
      for (std::int64_t step = first_step; step < end; ++step, v_row += rows_per_step(args)) {
        state += steps.kg[(first_row + step) * K + ik] * args.v[v_row * V + iv];
      }
      state_smem[ik * kColumns + lane] = state;
    }
  }

  // A thread stores what it wrote itself, so no barrier is needed.
  for (int ik = warp; ik < K; ik += kWarps) {
    if (args.final_state != nullptr && has_column)
      args.final_state[(head * K + ik) * V + iv] = state_smem[ik * kColumns + lane];
  }
}

// ---- Step 4: within a chunk, the scores ----

constexpr int kSlice = 32;  // channels in shared memory at a time
constexpr int kSide = kSubChunk;
static_assert(kSide * kSide == kThreads);

// One block per head and 16 queries, one thread per query and key. The keys are loaded 16 at a
// time, from the chunk's first on.
//
// A border is before the queries' sub-chunk. For an earlier key the decay is split there: k decays
// until the border and q after it, each computed once for 16 partners. Within the sub-chunk there
// is no border, and each pair has its own exponent.
__global__ void __launch_bounds__(kThreads) intra_chunk_scores_kernel(const Steps steps) {
  // Rows of odd length, so that the 16 neighbouring keys that a warp reads are in different banks.
  __shared__ float q_smem[kSide][kSlice + 1], k_smem[kSide][kSlice + 1];
  __shared__ LogSum sum_smem[kSide][kSlice + 1];
  const WkvArgs& args = steps.args;
  const std::int64_t K = args.K, sub_chunks = steps.T_p / kSubChunk;
  const std::int64_t head = blockIdx.x / sub_chunks, first_row = head * steps.T_p;
  const std::int64_t first_query = blockIdx.x % sub_chunks * kSubChunk;
  const std::int64_t first_of_chunk = first_query / steps.chunk * steps.chunk;
  const int query = threadIdx.x / kSide, key = threadIdx.x % kSide;
  float* scores = steps.scores + (first_row + first_query + query) * steps.chunk;

  for (std::int64_t first_key = first_of_chunk; first_key < first_of_chunk + steps.chunk;
       first_key += kSubChunk) {
    const bool own = first_key == first_query;  // the queries' own sub-chunk
    float score = 0.0f;
    for (std::int64_t first_ik = 0; first_ik < K && first_key <= first_query; first_ik += kSlice) {
      __syncthreads();  // all threads have read the previous slice, so it may be overwritten
      for (int i = threadIdx.x; i < kSide * kSlice; i += kThreads) {
        const int side = i / kSlice, slice = i % kSlice;
        const std::int64_t ik = first_ik + slice;
        const std::int64_t q_step = first_query + side, k_step = first_key + side;
        float q = 0.0f, k = 0.0f;
        if (ik < K && q_step < args.T) q = args.q[token(args, head, q_step) * K + ik];
        if (ik < K && k_step < args.T) k = args.k[token(args, head, k_step) * K + ik];
        const LogSum* sum = steps.log_decay + first_row * K + (ik < K ? ik : 0);
        if (own) {
          sum_smem[side][slice] = sum[q_step * K];
        } else {
          // TODO(1): roughly 4 lines; multiply q and k by their parts of the decay, split so that
          // TODO(1): no exponent is above 0; budget: three reads of G, one exp per element of q and
          // TODO(1): of k.
        }
        q_smem[side][slice] = q;
        k_smem[side][slice] = k;
      }
      __syncthreads();
      for (int slice = 0; slice < kSlice; ++slice) {
        const float qk = q_smem[query][slice] * k_smem[key][slice];
        if (!own) {
          score += qk;
        } else if (key <= query) {
          const LogSum from = sum_smem[key][slice], to = sum_smem[query][slice];
          // TODO(1): roughly 1 line; add qk times the pair's own decay to score; budget: one exp
          // TODO(1): per pair and channel.
        }
      }
    }
    scores[first_key - first_of_chunk + key] = score;
  }
}

// ---- Step 5: both parts of o ----

// One thread per element of o.
__global__ void __launch_bounds__(kThreads) combine_kernel(const Steps steps) {
  const WkvArgs& args = steps.args;
  const std::int64_t i = global_thread();  // of (B, H, T, V)
  const std::int64_t iv = i % args.V, step = i / args.V % args.T;
  const std::int64_t head = i / args.V / args.T;
  if (head >= args.B * args.H) return;
  const std::int64_t row = head * steps.T_p + step;
  const std::int64_t first_step = step / steps.chunk * steps.chunk;
  const float* scores = steps.scores + row * steps.chunk;

  float sum = steps.o_inter[row * args.V + iv];
  std::int64_t v_row = token(args, head, first_step);
  for (std::int64_t key = 0; key <= step - first_step; ++key, v_row += rows_per_step(args))
    sum += scores[key] * args.v[v_row * args.V + iv];
  args.o[token(args, head, step) * args.V + iv] = args.scale * sum;
}

}  // namespace

// ---- Launches ----

void decay_cumsum(const Steps& steps) {
  const WkvArgs& args = steps.args;
  if (args.T == 0) return;
  decay_cumsum_kernel<<<blocks_for(args.B * args.H * (steps.T_p / steps.chunk) * args.K),
                        kThreads>>>(steps);
  CUDA_CHECK(cudaGetLastError());
}

void prepare_qg_kg(const Steps& steps) {
  const WkvArgs& args = steps.args;
  if (args.T == 0) return;
  prepare_qg_kg_kernel<<<blocks_for(args.B * args.H * steps.T_p * args.K), kThreads>>>(steps);
  CUDA_CHECK(cudaGetLastError());
}

void inter_chunk(const Steps& steps) {
  const WkvArgs& args = steps.args;
  const dim3 grid(static_cast<unsigned>(args.B * args.H),
                  static_cast<unsigned>((args.V + kColumns - 1) / kColumns));
  const std::size_t shared_bytes = args.K * kColumns * sizeof(float);
  inter_chunk_kernel<<<grid, kThreads, shared_bytes>>>(steps);
  CUDA_CHECK(cudaGetLastError());
}

void intra_chunk_scores(const Steps& steps) {
  const WkvArgs& args = steps.args;
  if (args.T == 0) return;
  const auto blocks = static_cast<unsigned>(args.B * args.H * steps.T_p / kSubChunk);
  intra_chunk_scores_kernel<<<blocks, kThreads>>>(steps);
  CUDA_CHECK(cudaGetLastError());
}

void combine(const Steps& steps) {
  const WkvArgs& args = steps.args;
  if (args.T == 0) return;
  combine_kernel<<<blocks_for(args.B * args.H * args.T * args.V), kThreads>>>(steps);
  CUDA_CHECK(cudaGetLastError());
}

namespace {

std::int64_t in_whole_chunks(std::int64_t T, std::int64_t chunk) {
  return (T + chunk - 1) / chunk * chunk;
}

// Sizes are at least what their lists allow.
void require_countable(const WkvArgs& args, std::int64_t chunk) {
  ladder::require(args.K <= kMostRows,
                  "K is " + std::to_string(args.K) + "; GLA in five steps allows 1 to 256");
  ladder::require(chunk > 0 && chunk % kSubChunk == 0 && chunk <= kMostChunk,
                  "chunk is " + std::to_string(chunk) + "; allowed: a multiple of 16, up to 65536");
  ladder::require(args.T <= kMostSteps, "T is " + std::to_string(args.T) +
                                            "; GLA in five steps allows up to 2^30 = 1073741824");
  ladder::require(args.V <= kMostColumns,
                  "V is " + std::to_string(args.V) + "; GLA in five steps allows up to 2097120");
  ladder::require(args.H <= INT32_MAX && args.B <= INT32_MAX / args.H,
                  "B * H is " + std::to_string(args.B) + " * " + std::to_string(args.H) +
                      "; GLA in five steps allows up to 2^31 - 1");
  // A thread per element of (B, H, T_p, K) and of (B, H, T, V), a block per 16 rows, within the
  // limits of a grid.
  const std::int64_t heads = args.B * args.H, most_threads = std::int64_t{INT32_MAX} * kThreads;
  const std::int64_t threads_per_head =
      in_whole_chunks(args.T, chunk) * std::max({args.K, args.V, kSubChunk});
  ladder::require(threads_per_head == 0 || heads <= most_threads / threads_per_head,
                  "B * H * T is too large; GLA in five steps allows B * H * T * max(K, V, 16) up "
                  "to 2^39, T rounded up to whole chunks");
}

// Registers a step as its own implementation.
template <typename Op, typename Args>
ladder::Implementation alone(ladder::Implementation step, void (*launch)(const Steps&)) {
  step.device = ladder::DeviceKind::kCuda;
  step.rung = true;
  step.launchers = ladder::launchers<Op>([launch](const Args& args) {
    ladder::validate_lists(args);
    require_countable(args.args, args.chunk);
    ladder::require(args.T_p == in_whole_chunks(args.args.T, args.chunk),
                    "T_p is " + std::to_string(args.T_p) + "; allowed: T in whole chunks");
    if (args.args.B > 0) launch(args);
  });
  return step;
}

}  // namespace

void gla(const WkvArgs& args, std::int64_t chunk) {
  ladder::validate_gla(args);
  require_countable(args, chunk);
  if (args.B == 0 || (args.T == 0 && args.final_state == nullptr)) return;

  Steps steps{.args = args, .chunk = chunk, .T_p = in_whole_chunks(args.T, chunk)};
  const std::int64_t rows = args.B * args.H * steps.T_p;
  const Scratch<LogSum> log_decay(rows * args.K);
  const Scratch<float> qg(rows * args.K), kg(rows * args.K), o_inter(rows * args.V);
  const Scratch<float> scores(rows * chunk);
  steps.log_decay = log_decay.pointer();
  steps.qg = qg.pointer();
  steps.kg = kg.pointer();
  steps.o_inter = o_inter.pointer();
  steps.scores = scores.pointer();
  decay_cumsum(steps);
  prepare_qg_kg(steps);
  inter_chunk(steps);
  intra_chunk_scores(steps);
  combine(steps);
}

const ladder::Registration registration{
    {.name = "gla_five_steps",
     .device = ladder::DeviceKind::kCuda,
     .launchers = ladder::launchers<ladder::Gla>([](const ladder::WkvArgs& args) { gla(args); })}};

const ladder::Registration step_1{
    alone<DecayCumsum, DecayCumsumArgs>({.name = "gla_decay_cumsum", .step = 1}, decay_cumsum)};
const ladder::Registration step_2{
    alone<PrepareQgKg, PrepareQgKgArgs>({.name = "gla_prepare_qg_kg", .step = 2}, prepare_qg_kg)};
const ladder::Registration step_3{
    alone<InterChunk, InterChunkArgs>({.name = "gla_inter_chunk", .step = 3}, inter_chunk)};
const ladder::Registration step_4{alone<IntraChunkScores, IntraChunkScoresArgs>(
    {.name = "gla_intra_chunk_scores", .step = 4}, intra_chunk_scores)};
const ladder::Registration step_5{
    alone<Combine, CombineArgs>({.name = "gla_combine", .step = 5}, combine)};

}  // namespace chunkwise::gla_steps
