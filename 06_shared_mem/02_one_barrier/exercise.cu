// 06 shared_mem, one barrier: two buffers for a step's rows, and registers for rows in flight.
// Change: rewrite of 06.00 for K = V = 64. Even and odd steps have buffers; a step loads the next.
// Why:    06.00 has two barriers per step, and waits for its loads because it stores them at once.
// Needs:  K = V = 64, fp32, no states, forward in time, any CUDA GPU. 06.00 allows the rest.
// Costs:  four registers, and twice the shared memory.
//         See README for measurements.
#include <cuda_runtime.h>

#include <cstdint>
#include <string>

#include "common/core/errors.hpp"
#include "common/core/registry.hpp"
#include "common/cuda/check.hpp"
#include "common/operators/wkv/wkv.hpp"

namespace {

using ladder::WkvArgs;

// K, V and the threads of a block.
constexpr int kChannels = 64;

// Elements per thread and access, 16 bytes of float.
constexpr int kVec = 4;

__device__ void read(float* to, const float* from_smem) {
  *reinterpret_cast<float4*>(to) = *reinterpret_cast<const float4*>(from_smem);
}

__global__ void __launch_bounds__(kChannels) wkv_one_barrier(const WkvArgs args) {
  // All threads read the same 16 bytes at a time, which is one broadcast without a bank conflict.
  __shared__ alignas(sizeof(float4)) float q_smem[2][kChannels], k_smem[2][kChannels],
      w_smem[2][kChannels], u_smem[kChannels];

  const int tid = static_cast<int>(threadIdx.x);
  const std::int64_t h = blockIdx.x % args.H;
  const std::int64_t b = blockIdx.x / args.H;

  float state[kChannels] = {};  // column tid of S
  u_smem[tid] = args.u[h * kChannels + tid];

  float q_next, k_next, log_w_next, v_next;  // this thread's element of each row of the next step
  const auto fetch = [&](std::int64_t t) {
    const std::int64_t element = ((b * args.T + t) * args.H + h) * kChannels + tid;
    q_next = args.q[element];
    k_next = args.k[element];
    log_w_next =
        args.log_w[b * args.log_w_stride_B + t * args.log_w_stride_T + h * kChannels + tid];
    v_next = args.v[element];
  };

  fetch(0);
  for (std::int64_t t = 0; t < args.T; ++t) {
    const std::int64_t place = t % 2;
    // TODO(1): roughly 3 lines; store q, k and exp(log_w) from their registers in this step's
    // TODO(1): buffer; budget: one shared store of each.
    const float v = v_next;
    // TODO(2): roughly 2 lines; fetch the next step's rows, if there is a next step; then let no
    // TODO(2): thread read this step's buffer before all have written it; budget: one global read
    // TODO(2): of each element, one barrier per step.

    float sum[kVec] = {};
#pragma unroll
    for (int ik = 0; ik < kChannels; ik += kVec) {
      alignas(sizeof(float4)) float q4[kVec], k4[kVec], w4[kVec], u4[kVec];
      read(q4, q_smem[place] + ik), read(k4, k_smem[place] + ik);
      read(w4, w_smem[place] + ik), read(u4, u_smem + ik);
      for (int i = 0; i < kVec; ++i) {
        const float kv = k4[i] * v;
        sum[i] += q4[i] * (state[ik + i] + u4[i] * kv);
        state[ik + i] = w4[i] * state[ik + i] + kv;
      }
    }
    args.o[((b * args.T + t) * args.H + h) * kChannels + tid] =
        args.scale * (sum[0] + sum[1] + sum[2] + sum[3]);
  }
}

void wkv(const WkvArgs& args) {
  ladder::validate(args);
  ladder::require_square_heads_without_state(args, "06.02 one barrier");
  ladder::require(args.K == kChannels,
                  "K is " + std::to_string(args.K) + "; this kernel allows only K = V = 64");
  ladder::require(args.B <= INT32_MAX / args.H,
                  "B * H is too large; allowed: up to 2^31 - 1 blocks");
  if (args.B == 0 || args.T == 0) return;
  wkv_one_barrier<<<static_cast<unsigned>(args.B * args.H), kChannels>>>(args);
  CUDA_CHECK(cudaGetLastError());
}

const ladder::Registration registration{{.name = "wkv_one_barrier",
                                         .device = ladder::DeviceKind::kCuda,
                                         .launchers = ladder::launchers<ladder::Wkv>(wkv)}};

}  // namespace
