// 07 chunkwise, chunk gradients: the gradients of WKV in chunks of 16 steps, by plain loops.
// Change: rewrite of 07.17: the walks keep S and D at the borders of chunks only; each chunk then finds its gradients by itself, pair by pair.
// Why:    two states for each 16 steps are an eighth of the states that 17 stores, and the chunks of a sequence run at the same time.
// Needs:  K = V = 64, fp32, no states in or out, forward time; a decay per token or per head; any CUDA GPU.
// Costs:  all pairs of steps of a chunk, 120, each with decays of its own in every channel. See README for what was measured.
#include <cuda_runtime.h>

#include <cstdint>

#include "07_chunkwise/plain_gradients.hpp"
#include "common/core/errors.hpp"
#include "common/core/registry.hpp"
#include "common/cuda/call.hpp"
#include "common/cuda/check.hpp"
#include "common/cuda/scratch.hpp"
#include "common/cuda/warp.hpp"
#include "common/operators/wkv/wkv.hpp"

namespace {

using chunkwise::kChannels;
using chunkwise::sum_parts;
using ladder::WkvGradArgs;
using ladder::cuda::kAllLanes;

constexpr int kChunk = 16;  // steps
// Floats from row to row in shared memory: odd, so that a column lies in different banks.
constexpr int kRow = kChannels + 1;
constexpr int kStateSize = kChannels * kChannels;

// Thread n of a block has key row n and value column n.
struct Chunk {
  float q[kChunk][kRow], k[kChunk][kRow], w[kChunk][kRow], v[kChunk][kRow], d_o[kChunk][kRow];
};

struct Work {
  std::int64_t chunks;   // of a sequence
  float* states;         // (B, H, chunks, V, K): S before each chunk
  float* adjoints;       // (B, H, chunks, V, K): D behind each chunk
  float* du_parts;       // (B, chunks, H, K)
  float* d_log_w_parts;  // (B, chunks, H, K)
};

// Steps beyond T change nothing: q = k = v = d_o = 0, w = 1.
__device__ void fetch(Chunk& chunk, const WkvGradArgs& args, std::int64_t b, std::int64_t h,
                      std::int64_t first_t) {
  // TODO(1): roughly 14 lines; this thread's element of q, k, v and d_o of each step of the chunk, and the decay of its row; of a step beyond T
  // TODO(1): zeros, and the decay 1. budget: one read of each element that is there.
}

// Blocks with blockIdx.y = 0 walk S forward, with k and v; the others walk D backward, with q and d_o.
__global__ void __launch_bounds__(kChannels) walk_borders(const WkvGradArgs args, const Work work) {
  __shared__ Chunk chunk;
  const int n = static_cast<int>(threadIdx.x);
  const std::int64_t bh = blockIdx.x, b = bh / args.forward.H, h = bh % args.forward.H;
  const bool backward = blockIdx.y == 1;

  // TODO(2): roughly 24 lines; row n of S or of D begins with 0. The walk visits all chunks, S from the first on, D from the last on: a chunk is
  // TODO(2): fetched, the row as it is before the chunk changes it goes to its border, then it moves across the chunk. budget: 64 stores for a chunk,
  // TODO(2): two barriers, and for an element of the row one multiplication and 16 multiply-adds.
}

// scores[p][s]: what o_p takes of v_s, the bonus included. Four lanes share the rows of a key.
__device__ void put_scores(float (&scores_smem)[kChunk][kChunk], const Chunk& chunk,
                           const float* u) {
  constexpr int kShares = kChannels / kChunk;
  const int s = threadIdx.x / kShares, share = threadIdx.x % kShares;
  // TODO(3): roughly 17 lines; the scores of key s with the queries behind it, and with its own, which has the bonus: this lane's share of the rows,
  // TODO(3): then the sum of four lanes. budget: a quarter of the rows, two shuffles for a query, each score is stored once.
}

__global__ void __launch_bounds__(kChannels)
    chunk_gradients(const WkvGradArgs args, const Work work) {
  __shared__ Chunk chunk;
  __shared__ float adjoint_smem[kChannels][kRow];
  __shared__ float scores_smem[kChunk][kChunk];    // [p][s]
  __shared__ float d_scores_smem[kChunk][kChunk];  // their gradients: scale d_o_p . v_s
  const ladder::WkvArgs& forward = args.forward;
  const int n = static_cast<int>(threadIdx.x);
  const std::int64_t c = blockIdx.x % work.chunks, bh = blockIdx.x / work.chunks;
  const std::int64_t b = bh / forward.H, h = bh % forward.H, first_t = c * kChunk;
  const float scale = forward.scale, u = forward.u[h * kChannels + n];

  fetch(chunk, args, b, h, first_t);
  __syncthreads();
  put_scores(scores_smem, chunk, forward.u + h * kChannels);
  // TODO(3): roughly 7 lines; d_scores_smem of all pairs, scale times d_o_p . v_s: each thread has every 64th. budget: one store for a pair.

  // Rows n of S and D: with each d_o, with each v, and with each other.
  float from_state[kChunk] = {}, from_adjoint[kChunk] = {}, overlap = 0.0f;
  const std::int64_t border = (bh * work.chunks + c) * kStateSize + n;
  // TODO(4): roughly 11 lines; row n of S before the chunk and of D behind it: their product with each other; of S with each d_o, times scale; of D
  // TODO(4): with each v. D also goes to adjoint_smem. budget: one read of each element of both rows.
  __syncthreads();  // all have read k, which is overwritten now; the gradients of the scores are there

  float q[kChunk], w[kChunk], dq[kChunk] = {}, d_log_w[kChunk] = {}, du = 0.0f;
#pragma unroll
  for (int p = 0; p < kChunk; ++p)
    q[p] = chunk.q[p][n], w[p] = chunk.w[p][n];

  // A key of step s, which is `left` in step s + 1, and the queries behind it: `d_score(p)` is the gradient of their scores. `d_left`, of
  // what is left of the key behind the chunk, becomes that of the key. Returns what is left.
  const auto visit_queries = [&](int s, float left, float& d_left, const auto& d_score) {
    // TODO(5): roughly 15 lines; forward through the steps behind s, then back: what is left of the key, dq, d_left, d_log_w. budget: no memory but
    // TODO(5): what d_score(p) reads.
    return left;
  };
  // The state is a key before the first step: 1 is left of it there.
  visit_queries(-1, 1.0f, overlap, [&](int p) { return from_state[p]; });
  const auto element_of = [&](int s) {
    return ((b * forward.T + first_t + s) * forward.H + h) * kChannels + n;
  };
#pragma unroll
  for (int s = 0; s < kChunk; ++s) {
    // TODO(5): roughly 6 lines; key s: what is left of it takes its place, and its own step adds to dq and du; dk is stored, if the step is there.
    // TODO(5): budget: one store.
  }
  __syncthreads();  // what is left of all keys is there

  float dv[kChunk] = {}, d_log_w_sum = 0.0f;
  // TODO(4): roughly 15 lines; dv, of column n of D and of the scores behind each key; then dq, dv and d_log_w of the steps that are there are
  // TODO(4): stored, and d_log_w is added up. If a head has one decay for all steps, it is only added up. budget: one store of each.
  const std::int64_t part = ((b * work.chunks + c) * forward.H + h) * kChannels + n;
  work.du_parts[part] = du;
  work.d_log_w_parts[part] = d_log_w_sum;
}

void wkv(const WkvGradArgs& args) {
  chunkwise::require_plain_gradients(args, "07.18 chunk gradients");
  const ladder::WkvArgs& forward = args.forward;
  const std::int64_t heads = forward.H, chunks = (forward.T + kChunk - 1) / kChunk;
  ladder::require(heads <= INT32_MAX && forward.B <= INT32_MAX / heads / (chunks + 1),
                  "B * H is too large; allowed: B * H * T / 16 below 2^31 blocks");
  const std::int64_t blocks = forward.B * heads * chunks, elements = heads * kChannels;
  using ladder::cuda::Scratch;
  const Scratch<float> states(blocks * kStateSize), adjoints(blocks * kStateSize);
  const Scratch<float> du_parts(blocks * kChannels), d_log_w_parts(blocks * kChannels);
  const Work work{chunks, states.pointer(), adjoints.pointer(), du_parts.pointer(),
                  d_log_w_parts.pointer()};
  const cudaStream_t stream = ladder::cuda::stream();
  if (blocks > 0) {
    const dim3 walks(static_cast<unsigned>(forward.B * heads), 2);
    walk_borders<<<walks, kChannels, 0, stream>>>(args, work);
    CUDA_CHECK(cudaGetLastError());
    chunk_gradients<<<static_cast<unsigned>(blocks), kChannels, 0, stream>>>(args, work);
    CUDA_CHECK(cudaGetLastError());
  }
  const auto sum = [&](float* to, const float* parts) {
    sum_parts<<<static_cast<unsigned>(heads), kChannels, 0, stream>>>(to, parts, elements,
                                                                      forward.B * chunks);
    CUDA_CHECK(cudaGetLastError());
  };
  sum(args.du, work.du_parts);
  if (forward.log_w_stride_T == 0) sum(args.d_log_w, work.d_log_w_parts);
}

const ladder::Registration registration{{.name = "wkv_chunk_gradients",
                                         .device = ladder::DeviceKind::kCuda,
                                         .launchers = ladder::launchers<ladder::WkvBackward>(wkv)}};

}  // namespace
