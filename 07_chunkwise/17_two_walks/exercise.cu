// 07 chunkwise, two walks: the gradients of WKV by its recurrence, forward and backward in time.
// Change: rewrite. The gradients need sums that the forward pass does not have. Only the update of
//         the state is the same.
// Why:    the state S goes forward, its gradient D backward, and every gradient of a step is a sum
//         over a row or a column of one of them.
// Needs:  K = V = 64, fp32, no states in or out, forward time, a decay per token or per head, any
//         CUDA GPU.
// Costs:  S of every step is kept in memory, 16 KB per step of a head. A block computes a head with
//         all its batches, so few heads leave a GPU idle. See README for measurements.
#include <cuda_runtime.h>

#include <cstdint>
#include <string>

#include "07_chunkwise/plain_gradients.hpp"
#include "common/core/errors.hpp"
#include "common/core/registry.hpp"
#include "common/cuda/call.hpp"
#include "common/cuda/check.hpp"
#include "common/cuda/scratch.hpp"
#include "common/operators/wkv/wkv.hpp"

namespace {

using chunkwise::kChannels;
using ladder::WkvGradArgs;

// A step's rows and columns. Thread n of a block has key row n and value column n.
struct Step {
  float q[kChannels], k[kChannels], w[kChannels];
  float v[kChannels], d_o[kChannels];
};

// states: (H, T, V, K), reused by one batch after another
__global__ void __launch_bounds__(kChannels)
    wkv_two_walks(const WkvGradArgs args, float* const states) {
  __shared__ Step step;
  __shared__ float u_smem[kChannels];
  const ladder::WkvArgs& forward = args.forward;
  const int n = static_cast<int>(threadIdx.x);
  const std::int64_t h = blockIdx.x, T = forward.T;
  const bool per_head = forward.log_w_stride_T == 0;
  const float scale = forward.scale, u = forward.u[h * kChannels + n];
  u_smem[n] = u;

  const auto fetch = [&](std::int64_t element, std::int64_t log_w) {
    __syncthreads();  // all threads have read the previous step, so it may be overwritten
    step.q[n] = forward.q[element];
    step.k[n] = forward.k[element];
    step.w[n] = expf(forward.log_w[log_w]);
    step.v[n] = forward.v[element];
    step.d_o[n] = args.d_o[element];
    __syncthreads();
  };

  float du = 0.0f, d_log_w_sum = 0.0f;
  for (std::int64_t b = 0; b < forward.B; ++b) {
    const auto element_of = [&](std::int64_t t) {
      return ((b * T + t) * forward.H + h) * kChannels + n;
    };
    const auto log_w_of = [&](std::int64_t t) {
      return b * forward.log_w_stride_B + t * forward.log_w_stride_T + h * kChannels + n;
    };
    const auto state_of = [&](std::int64_t t) {
      return states + (h * T + t) * kChannels * kChannels + n;
    };

    float state[kChannels] = {};  // row n of S, before step t
    for (std::int64_t t = 0; t < T; ++t) {
      fetch(element_of(t), log_w_of(t));
      const float q = step.q[n], k = step.k[n], w = step.w[n];
      float* const kept = state_of(t);
      float s_do = 0.0f, v_do = 0.0f;
#pragma unroll
      for (int iv = 0; iv < kChannels; ++iv) {
        kept[iv * kChannels] = state[iv];
        // TODO(1): roughly 2 lines; add column iv's terms to s_do, row n of S times d_o, and to
        // TODO(1): v_do, v times d_o; budget: no global memory.
        state[iv] = w * state[iv] + k * step.v[iv];
      }
      // TODO(1): roughly 2 lines; store dq of this step and row, add the step's part to du; budget:
      // TODO(1): one store.
    }

    // Row n and column n of D, after step t. dk and d_log_w are sums over a row, dv over a column.
    float row[kChannels] = {}, column[kChannels] = {};
    for (std::int64_t t = T - 1; t >= 0; --t) {
      fetch(element_of(t), log_w_of(t));
      const float q = step.q[n], w = step.w[n], d_o = step.d_o[n];
      const float* const kept = state_of(t);
      float s_d = 0.0f, row_v = 0.0f, v_do = 0.0f;
#pragma unroll
      for (int iv = 0; iv < kChannels; ++iv) {
        s_d += kept[iv * kChannels] * row[iv];
        // TODO(2): roughly 1 line; add column iv's term to row_v, row n of D times v; budget: no
        // TODO(2): global memory.
        v_do += step.v[iv] * step.d_o[iv];
        // TODO(3): roughly 1 line; move row[iv] from D_t back to D_{t-1}; budget: no global memory.
      }
      float column_k = 0.0f, bonus = 0.0f;
#pragma unroll
      for (int ik = 0; ik < kChannels; ++ik) {
        // TODO(2): roughly 1 line; add row ik's term to column_k, column n of D times k; budget: no
        // TODO(2): global memory.
        bonus += step.q[ik] * u_smem[ik] * step.k[ik];
        // TODO(3): roughly 1 line; move column[ik] from D_t back to D_{t-1}; budget: no global
        // TODO(3): memory.
      }
      // TODO(2): roughly 2 lines; store dk and dv of this step; budget: two stores.
      d_log_w_sum += w * s_d;
      if (!per_head) args.d_log_w[element_of(t)] = w * s_d;
    }
  }
  args.du[h * kChannels + n] = du;
  if (per_head) args.d_log_w[h * kChannels + n] = d_log_w_sum;
}

void wkv(const WkvGradArgs& args) {
  chunkwise::require_plain_gradients(args, "07.17 two walks");
  const ladder::WkvArgs& forward = args.forward;
  ladder::require(forward.H <= INT32_MAX,
                  "H is " + std::to_string(forward.H) + "; allowed: up to 2^31 - 1 blocks");
  if (forward.B == 0 || forward.T == 0) {  // without steps all gradients are empty or zero
    const std::size_t bytes = forward.H * kChannels * sizeof(float);
    CUDA_CHECK(cudaMemsetAsync(args.du, 0, bytes, ladder::cuda::stream()));
    if (forward.log_w_stride_T == 0)
      CUDA_CHECK(cudaMemsetAsync(args.d_log_w, 0, bytes, ladder::cuda::stream()));
    return;
  }
  const ladder::cuda::Scratch<float> states(forward.H * forward.T * kChannels * kChannels);
  const auto blocks = static_cast<unsigned>(forward.H);
  wkv_two_walks<<<blocks, kChannels, 0, ladder::cuda::stream()>>>(args, states.pointer());
  CUDA_CHECK(cudaGetLastError());
}

const ladder::Registration registration{{.name = "wkv_two_walks",
                                         .device = ladder::DeviceKind::kCuda,
                                         .launchers = ladder::launchers<ladder::WkvBackward>(wkv)}};

}  // namespace
