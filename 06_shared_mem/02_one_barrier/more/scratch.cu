// 06 shared_mem, one barrier: two places for a step's rows, and the next step's rows on their way in registers.
// Change: rewrite of 06.00 for K = V = 64; rows of odd and even steps have places of their own, and a step loads what the next one needs.
// Why:    06 waits twice a step for all threads, and once for memory: what it loads is stored at once.
// Needs:  K = V = 64, fp32, no states, forward time; any CUDA GPU. The first kernel of this chapter allows the rest.
// Costs:  four registers, and twice the shared memory.
//         See README for what was measured.
#include <cuda_runtime.h>

#include <cstdint>
#include <string>

#include "common/core/errors.hpp"
#include "common/core/registry.hpp"
#include "common/cuda/check.hpp"
#include "common/operators/wkv/wkv.hpp"

namespace {

using ladder::WkvArgs;

// K and V: the key rows of a head, and its value columns. A block has a thread for each.
constexpr int kChannels = 64;

// Elements per thread and access, 16 bytes of float.
constexpr int kVec = 4;

__device__ void read(float* to, const float* from_smem) {
  *reinterpret_cast<float4*>(to) = *reinterpret_cast<const float4*>(from_smem);
}

__global__ void __launch_bounds__(kChannels) wkv_one_barrier(const WkvArgs args) {
  // All threads read the same 16 bytes at a time: one broadcast, no bank conflict.
  __shared__ alignas(sizeof(float4)) float q_smem[2][kChannels], k_smem[2][kChannels],
      w_smem[2][kChannels], u_smem[kChannels];

  const int tid = static_cast<int>(threadIdx.x);
  const std::int64_t h = blockIdx.x % args.H;
  const std::int64_t b = blockIdx.x / args.H;

  float state[kChannels] = {};  // column tid of S
  u_smem[tid] = args.u[h * kChannels + tid];

  float q_next, k_next, log_w_next, v_next;  // this thread's element of each row of the next step
  const auto fetch = [&](std::int64_t t) {
    // TODO(1): roughly 6 lines; this thread's element of the rows of step t, to q_next, k_next, log_w_next and v_next; log_w has strides of
    // TODO(1): its own. budget: one global read of each.
  };

  // TODO(2): roughly 1 line; the first step's rows.
  for (std::int64_t t = 0; t < args.T; ++t) {
    const std::int64_t place = t % 2;
    // TODO(2): roughly 3 lines; the rows of this step go to their place; w is exp(log_w). budget: one exp.
    const float v = v_next;
    // TODO(2): roughly 2 lines; the next step's rows, if there are any, are on their way while this one is computed; and what keeps threads
    // TODO(2): apart that write and read the same words. budget: one barrier per step.

    float sum[kVec] = {};
    // TODO(3): roughly 11 lines; for each key row what it gives to the output, then the decay and the update of its element of the state;
    // TODO(3): four rows at a time, by read(). budget: for four key rows one read of 16 bytes each of q_smem, k_smem, w_smem and u_smem.
    // TODO(3): roughly 2 lines; the output of this step. budget: one store.
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
