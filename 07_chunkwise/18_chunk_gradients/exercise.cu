// 07 chunkwise, chunk gradients: the gradients of WKV in chunks of 16 steps, by plain loops.
// Change: rewrite of 07.17. S and D are kept only at the borders of chunks. Each chunk then
//         computes its gradients on its own, pair by pair.
// Why:    two states per 16 steps are an eighth of the states that 17 stores, and the chunks of a
//         sequence run in parallel.
// Needs:  K = V = 64, fp32, no states in or out, forward time, a decay per token or per head, any
//         CUDA GPU.
// Costs:  all pairs of steps of a chunk, 120, each with its own decays in every channel. See README
//         for what was measured.
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
// Floats from row to row in shared memory. The number is odd, so that the elements of a column are
// in different banks.
constexpr int kRow = kChannels + 1;
constexpr int kStateSize = kChannels * kChannels;

// Thread n of a block has key row n and value column n.
struct Chunk {
  float q[kChunk][kRow], k[kChunk][kRow], w[kChunk][kRow], v[kChunk][kRow], d_o[kChunk][kRow];
};

struct Work {
  std::int64_t chunks;   // per sequence
  float* states;         // (B, H, chunks, V, K), S before each chunk
  float* adjoints;       // (B, H, chunks, V, K), D after each chunk
  float* du_parts;       // (B, chunks, H, K)
  float* d_log_w_parts;  // (B, chunks, H, K)
};

// Steps past T change nothing, because q = k = v = d_o = 0 and w = 1.
__device__ void fetch(Chunk& chunk, const WkvGradArgs& args, std::int64_t b, std::int64_t h,
                      std::int64_t first_t) {
  const ladder::WkvArgs& forward = args.forward;
  const int n = static_cast<int>(threadIdx.x);
  for (int s = 0; s < kChunk; ++s) {
    const std::int64_t t = first_t + s;
    const bool there = t < forward.T;
    const std::int64_t element = ((b * forward.T + t) * forward.H + h) * kChannels + n;
    const std::int64_t log_w =
        b * forward.log_w_stride_B + t * forward.log_w_stride_T + h * kChannels + n;
    chunk.q[s][n] = there ? forward.q[element] : 0.0f;
    chunk.k[s][n] = there ? forward.k[element] : 0.0f;
    chunk.w[s][n] = there ? expf(forward.log_w[log_w]) : 1.0f;
    chunk.v[s][n] = there ? forward.v[element] : 0.0f;
    chunk.d_o[s][n] = there ? args.d_o[element] : 0.0f;
  }
}

// Blocks with blockIdx.y = 0 compute S forward, from k and v, and the others D backward, from q and
// d_o.
__global__ void __launch_bounds__(kChannels) walk_borders(const WkvGradArgs args, const Work work) {
  __shared__ Chunk chunk;
  const int n = static_cast<int>(threadIdx.x);
  const std::int64_t bh = blockIdx.x, b = bh / args.forward.H, h = bh % args.forward.H;
  const bool backward = blockIdx.y == 1;

  float state[kChannels] = {};  // row n of S or of D
  for (std::int64_t visited = 0; visited < work.chunks; ++visited) {
    const std::int64_t c = backward ? work.chunks - 1 - visited : visited;
    __syncthreads();  // all threads have read the previous chunk, so it may be overwritten
    fetch(chunk, args, b, h, c * kChunk);
    __syncthreads();
    float* const border =
        (backward ? work.adjoints : work.states) + (bh * work.chunks + c) * kStateSize + n;
    float left[kChunk], decay = 1.0f;  // k or q decayed to the other end; decay from that end on
#pragma unroll
    for (int m = 0; m < kChunk; ++m) {
      const int s = backward ? m : kChunk - 1 - m;
      // TODO(1): roughly 2 lines; set left[m] to k_s or scale q_s, decayed to the other end; then
      // TODO(1): include step s in `decay`; budget: no global memory.
    }
    const auto& read = backward ? chunk.d_o : chunk.v;
#pragma unroll
    for (int iv = 0; iv < kChannels; ++iv) {
      border[iv * kChannels] = state[iv];
      // TODO(1): roughly 3 lines; update state[iv], of S or D, by the whole chunk; budget: one
      // TODO(1): multiplication and 16 multiply-adds.
    }
  }
}

// scores[p][s] is the weight of v_s in o_p, with the bonus. Four lanes share the rows of a key.
__device__ void put_scores(float (&scores_smem)[kChunk][kChunk], const Chunk& chunk,
                           const float* u) {
  constexpr int kShares = kChannels / kChunk;
  const int s = threadIdx.x / kShares, share = threadIdx.x % kShares;
  float score[kChunk] = {};
  for (int ik = share; ik < kChannels; ik += kShares) {
    float left = chunk.k[s][ik];
#pragma unroll
    for (int p = 0; p < kChunk; ++p) {
      if (p == s) score[p] += chunk.q[p][ik] * u[ik] * left;
      if (p <= s) continue;
      score[p] += chunk.q[p][ik] * left;
      left *= chunk.w[p][ik];
    }
  }
#pragma unroll
  for (int p = 0; p < kChunk; ++p) {
    for (int distance = 1; distance < kShares; distance *= 2)
      score[p] += __shfl_xor_sync(kAllLanes, score[p], distance);
    if (p % kShares == share) scores_smem[p][s] = score[p];
  }
}

__global__ void __launch_bounds__(kChannels)
    chunk_gradients(const WkvGradArgs args, const Work work) {
  __shared__ Chunk chunk;
  __shared__ float adjoint_smem[kChannels][kRow];
  __shared__ float scores_smem[kChunk][kChunk];    // [p][s]
  __shared__ float d_scores_smem[kChunk][kChunk];  // their gradients, scale d_o_p . v_s
  const ladder::WkvArgs& forward = args.forward;
  const int n = static_cast<int>(threadIdx.x);
  const std::int64_t c = blockIdx.x % work.chunks, bh = blockIdx.x / work.chunks;
  const std::int64_t b = bh / forward.H, h = bh % forward.H, first_t = c * kChunk;
  const float scale = forward.scale, u = forward.u[h * kChannels + n];

  fetch(chunk, args, b, h, first_t);
  __syncthreads();
  put_scores(scores_smem, chunk, forward.u + h * kChannels);
  for (int pair = n; pair < kChunk * kChunk; pair += kChannels) {
    const int p = pair / kChunk, s = pair % kChunk;
    float sum = 0.0f;
    for (int iv = 0; iv < kChannels; ++iv)
      sum += chunk.d_o[p][iv] * chunk.v[s][iv];
    d_scores_smem[p][s] = scale * sum;
  }

  // Products of rows n of S and D with each d_o, with each v, and with each other.
  float from_state[kChunk] = {}, from_adjoint[kChunk] = {}, overlap = 0.0f;
  const std::int64_t border = (bh * work.chunks + c) * kStateSize + n;
  for (int iv = 0; iv < kChannels; ++iv) {
    const float state = work.states[border + iv * kChannels];
    const float adjoint = work.adjoints[border + iv * kChannels];
    adjoint_smem[n][iv] = adjoint;
    overlap += state * adjoint;
#pragma unroll
    for (int s = 0; s < kChunk; ++s) {
      from_state[s] += scale * state * chunk.d_o[s][iv];
      from_adjoint[s] += adjoint * chunk.v[s][iv];
    }
  }
  __syncthreads();  // all threads have read k, so it may be overwritten. d_scores are complete

  float q[kChunk], w[kChunk], dq[kChunk] = {}, d_log_w[kChunk] = {}, du = 0.0f;
#pragma unroll
  for (int p = 0; p < kChunk; ++p)
    q[p] = chunk.q[p][n], w[p] = chunk.w[p][n];

  // Visits the pairs of a key of step s, which is `left` in step s + 1, with later queries.
  // `d_score(p)` is the gradient of their scores. `d_left`, the gradient of the key decayed past
  // the chunk, becomes the key's gradient. Returns the key decayed past the chunk.
  const auto visit_queries = [&](int s, float left, float& d_left, const auto& d_score) {
    float before[kChunk];
#pragma unroll
    for (int p = 0; p < kChunk; ++p) {
      if (p <= s) continue;
      // TODO(2): roughly 3 lines; set before[p], update dq[p] and left by step p; budget: no memory
      // TODO(2): but what d_score(p) reads.
    }
#pragma unroll
    for (int p = kChunk - 1; p >= 0; --p) {
      if (p <= s) continue;
      // TODO(2): roughly 3 lines; update d_left and d_log_w[p] by step p; budget: no memory but
      // TODO(2): what d_score(p) reads.
    }
    return left;
  };
  // The state acts as a key before the first step, with a remaining factor of 1.
  visit_queries(-1, 1.0f, overlap, [&](int p) { return from_state[p]; });
  const auto element_of = [&](int s) {
    return ((b * forward.T + first_t + s) * forward.H + h) * kChannels + n;
  };
#pragma unroll
  for (int s = 0; s < kChunk; ++s) {
    const float k = chunk.k[s][n], d_own = d_scores_smem[s][s];
    chunk.k[s][n] =
        visit_queries(s, k, from_adjoint[s], [&](int p) { return d_scores_smem[p][s]; });
    dq[s] += d_own * u * k;
    du += d_own * q[s] * k;
    if (first_t + s < forward.T) args.dk[element_of(s)] = from_adjoint[s] + d_own * u * q[s];
  }
  __syncthreads();  // the decayed keys are in shared memory

  float dv[kChunk] = {}, d_log_w_sum = 0.0f;
  for (int ik = 0; ik < kChannels; ++ik) {
#pragma unroll
    for (int s = 0; s < kChunk; ++s)
      dv[s] += chunk.k[s][ik] * adjoint_smem[ik][n];
  }
#pragma unroll
  for (int s = 0; s < kChunk; ++s) {
    for (int p = s; p < kChunk; ++p)
      dv[s] += scale * scores_smem[p][s] * chunk.d_o[p][n];
    if (first_t + s >= forward.T) break;
    d_log_w_sum += d_log_w[s];
    args.dq[element_of(s)] = dq[s];
    args.dv[element_of(s)] = dv[s];
    if (forward.log_w_stride_T > 0) args.d_log_w[element_of(s)] = d_log_w[s];
  }
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
