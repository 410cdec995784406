// 06 shared_mem: WKV on a GPU, one block per (batch, head), one thread per value column.
// Change: rewrite of 05.00. A block's threads load a step's q, k and w together into shared memory.
// Why:    all columns of a head need the same q, k, w, u. One load and one exp per head are enough.
// Needs:  K and V up to 256, initial and final state, reverse, fp32 or bf16, any CUDA GPU.
// Costs:  two barriers per step. Each step waits for its own loads. Above K = 128 the state spills.
//         See README for measurements.
#include <cuda_runtime.h>

#include <cstdint>
#include <string>

#include "common/core/errors.hpp"
#include "common/core/registry.hpp"
#include "common/cuda/call.hpp"
#include "common/cuda/check.hpp"
#include "common/cuda/storage.hpp"
#include "common/operators/wkv/wkv.hpp"

namespace {

using ladder::BasicWkvArgs;
using ladder::bfloat16;
using ladder::cuda::load;
using ladder::cuda::store;

constexpr int kWarpSize = 32;

// The largest K and V, hence the most rows of a thread's state column and threads of a block.
constexpr int kMostChannels = 256;

// Elements per thread and access, 16 bytes of float.
constexpr int kVec = 4;

__device__ void read(float* to, const float* from_smem) {
  *reinterpret_cast<float4*>(to) = *reinterpret_cast<const float4*>(from_smem);
}

template <int kRows, typename Element, typename LogW>
__global__ void __launch_bounds__(kMostChannels)
    wkv_shared_mem(const BasicWkvArgs<Element, LogW> args) {
  // All threads read the same 16 bytes at a time, which is one broadcast without a bank conflict.
  __shared__ alignas(sizeof(float4)) float q_smem[kRows], k_smem[kRows], w_smem[kRows],
      u_smem[kRows];

  const int K = static_cast<int>(args.K), V = static_cast<int>(args.V);
  const int tid = static_cast<int>(threadIdx.x), threads = static_cast<int>(blockDim.x);
  const std::int64_t h = blockIdx.x % args.H;
  const std::int64_t b = blockIdx.x / args.H;
  const bool has_column = tid < V;  // threads of a partial last warp only help to load

  float state[kRows] = {};  // column tid of S, whose rows past K stay zero
  const std::int64_t first_state = (b * args.H + h) * K * V + tid;
  for (int ik = 0; ik < kRows; ++ik) {
    if (args.initial_state != nullptr && has_column && ik < K)
      state[ik] = args.initial_state[first_state + static_cast<std::int64_t>(ik) * V];
  }
  for (int ik = tid; ik < kRows; ik += threads)
    u_smem[ik] = ik < K && args.T > 0 ? load(args.u + h * K + ik) : 0.0f;

  for (std::int64_t step = 0; step < args.T; ++step) {
    const std::int64_t t = args.reverse ? args.T - 1 - step : step;
    const std::int64_t token = (b * args.T + t) * args.H + h;
    const Element* q = args.q + token * K;
    const Element* k = args.k + token * K;
    const LogW* log_w = args.log_w + b * args.log_w_stride_B + t * args.log_w_stride_T + h * K;
    const float v = has_column ? load(args.v + token * V + tid) : 0.0f;

    // TODO(2): roughly 2 lines, at two places; let no thread write before all have read the
    // TODO(2): previous step, and let none read before all have written this step; budget: two
    // TODO(2): barriers per step.
    for (int ik = tid; ik < kRows; ik += threads) {
      // TODO(1): roughly 3 lines; store element ik of q, of k and of exp(log_w) in shared memory,
      // TODO(1): zeros from K on; budget: one global read of each element by the whole block.
    }

    float sum[kVec] = {};
#pragma unroll
    for (int ik = 0; ik < kRows; ik += kVec) {
      alignas(sizeof(float4)) float q4[kVec], k4[kVec], w4[kVec], u4[kVec];
      read(q4, q_smem + ik), read(k4, k_smem + ik), read(w4, w_smem + ik), read(u4, u_smem + ik);
      for (int i = 0; i < kVec; ++i) {
        const float kv = k4[i] * v;
        sum[i] += q4[i] * (state[ik + i] + u4[i] * kv);
        state[ik + i] = w4[i] * state[ik + i] + kv;
      }
    }
    if (has_column) {
      store(args.o + token * V + tid, args.scale * (sum[0] + sum[1] + sum[2] + sum[3]));
    }
  }

  for (int ik = 0; ik < kRows; ++ik) {
    if (args.final_state != nullptr && has_column && ik < K)
      args.final_state[first_state + static_cast<std::int64_t>(ik) * V] = state[ik];
  }
}

template <int kRows, typename Element, typename LogW>
void launch(const BasicWkvArgs<Element, LogW>& args) {
  const unsigned blocks = static_cast<unsigned>(args.B * args.H);
  const unsigned threads = static_cast<unsigned>((args.V + kWarpSize - 1) / kWarpSize * kWarpSize);
  wkv_shared_mem<kRows><<<blocks, threads, 0, ladder::cuda::stream()>>>(args);
  CUDA_CHECK(cudaGetLastError());
}

template <typename Element, typename LogW>
void wkv(const BasicWkvArgs<Element, LogW>& args) {
  ladder::validate(args);
  ladder::require(args.K <= kMostChannels && args.V <= kMostChannels,
                  "K is " + std::to_string(args.K) + " and V is " + std::to_string(args.V) +
                      "; this kernel allows 1 to 256");
  ladder::require(args.B <= INT32_MAX / args.H,
                  "B * H is too large; allowed: up to 2^31 - 1 blocks");
  if (args.B == 0 || (args.T == 0 && args.final_state == nullptr)) return;
  if (args.K <= 32) return launch<32>(args);
  if (args.K <= 64) return launch<64>(args);
  if (args.K <= 128) return launch<128>(args);
  return launch<256>(args);
}

const ladder::Registration registration{
    {.name = "wkv_shared_mem",
     .device = ladder::DeviceKind::kCuda,
     .rung = true,
     .launchers = ladder::launchers<ladder::Wkv>(wkv<float, float>, wkv<bfloat16, bfloat16>,
                                                 wkv<bfloat16, float>)}};

}  // namespace
