// 06 shared_mem: WKV on a GPU, one block per (batch, head), one thread per value column.
// Change: rewrite of 05.00: q, k, w and u of a step are brought to shared memory once, by all threads of the block together.
// Why:    every column of a head needs the same rows of q, k, w, u, and its own exp(log_w) of them: once per head is enough.
// Needs:  K and V up to 256, not necessarily equal; initial and final state, reverse; fp32 or bf16 storage; any CUDA GPU.
// Costs:  two barriers per step, and every step still waits for its own loads. K above 128 spills the state's registers.
//         See README for what was measured.
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

// The largest K and V: a thread's column of the state, and the block of V threads.
constexpr int kMostChannels = 256;

// Elements per thread and access, 16 bytes of float.
constexpr int kVec = 4;

__device__ void read(float* to, const float* from_smem) {
  *reinterpret_cast<float4*>(to) = *reinterpret_cast<const float4*>(from_smem);
}

template <int kRows, typename Element, typename LogW>
__global__ void __launch_bounds__(kMostChannels)
    wkv_shared_mem(const BasicWkvArgs<Element, LogW> args) {
  // All threads read the same 16 bytes at a time: one broadcast, no bank conflict.
  __shared__ alignas(sizeof(float4)) float q_smem[kRows], k_smem[kRows], w_smem[kRows],
      u_smem[kRows];

  const int K = static_cast<int>(args.K), V = static_cast<int>(args.V);
  const int tid = static_cast<int>(threadIdx.x), threads = static_cast<int>(blockDim.x);
  const std::int64_t h = blockIdx.x % args.H;
  const std::int64_t b = blockIdx.x / args.H;
  const bool has_column = tid < V;  // threads of a ragged last warp only help to load

  float state[kRows] = {};  // column tid of S; rows beyond K stay zero
  const std::int64_t first_state = (b * args.H + h) * K * V + tid;
  // TODO(1): roughly 6 lines, at two places; the state comes in: row ik of column tid lies V floats behind row ik - 1, the first one at
  // TODO(1): args.initial_state + first_state; there may be no initial state. And u of this head goes to u_smem, zeros from K on; the threads
  // TODO(1): share its rows out. At T = 0 there may be no u. budget: each element of u is read once by the block.

  for (std::int64_t step = 0; step < args.T; ++step) {
    const std::int64_t t = args.reverse ? args.T - 1 - step : step;
    const std::int64_t token = (b * args.T + t) * args.H + h;
    // TODO(2): roughly 3 lines; where this step's rows of q, k and log_w begin: token counts rows of q and k; log_w has strides of its own.
    const float v = has_column ? load(args.v + token * V + tid) : 0.0f;

    // TODO(2): roughly 7 lines; the rows of q, k and exp(log_w) go to shared memory, zeros from K on, shared out among the threads; and what
    // TODO(2): keeps threads apart that write and read the same words. budget: one global read of each element by the whole block, two
    // TODO(2): barriers per step.

    float sum[kVec] = {};
    // TODO(3): roughly 10 lines; for each key row what it gives to the output, then the decay and the update of its element of the state;
    // TODO(3): four rows at a time, by read(), and a sum for each of the four. All rows to kRows, so that `state` stays in registers.
    // TODO(3): budget: for four key rows one read of 16 bytes each of q_smem, k_smem, w_smem and u_smem.
    if (has_column) {
      // TODO(4): roughly 1 line; the output of this step, times args.scale; budget: one store.
    }
  }

  // TODO(5): roughly 4 lines; the state goes out to args.final_state, if that is wanted; budget: one store for each element of the state.
}

template <int kRows, typename Element, typename LogW>
void launch(const BasicWkvArgs<Element, LogW>& args) {
  // TODO(1): roughly 3 lines; the launch: a block for each batch and head, a thread for each value column, whole warps; its stream is
  // TODO(1): ladder::cuda::stream(). budget: one launch.
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
