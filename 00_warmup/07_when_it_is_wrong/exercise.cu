// 00.07 when it is wrong: a running sum with two barriers per step, and tools to look into it.
// Change: rewrite. Chosen threads of chosen blocks print or stop. Host code checks views, pointers.
// Why:    a wrong kernel reports nothing, so one has to watch its threads and to check every error.
// Needs:  any N and any CUDA GPU.
// Costs:  15 barriers per block of 128 elements. The watched kernel is a second one.
//         See README for measurements.
#include <cuda_runtime.h>

#include <cstdint>
#include <cstdio>
#include <string>

#include "00_warmup/07_when_it_is_wrong/block_running_sum.hpp"
#include "00_warmup/07_when_it_is_wrong/where.hpp"
#include "common/core/errors.hpp"
#include "common/core/lists.hpp"
#include "common/core/registry.hpp"
#include "common/cuda/check.hpp"

namespace warmup {
namespace {

constexpr int kThreads = kRunningBlock;

// The watched threads, and whether they stop the kernel.
struct Watch {
  Where blocks, threads;
  bool stop = false;
};

__host__ __device__ bool holds(const Condition& condition, unsigned index) {
  // TODO(1): roughly 6 lines; return whether the index fulfils the condition, for each relation but
  // TODO(1): kAny; budget: no memory is read.
  return true;
}

__host__ __device__ bool holds(const Where& where, unsigned x, unsigned y, unsigned z) {
  return holds(where.x, x) && holds(where.y, y) && holds(where.z, z);
}

template <bool kWatched>
__global__ void __launch_bounds__(kThreads)
    block_running_sum_kernel(const BlockRunningSumArgs args, const Watch watch) {
  __shared__ float sum_smem[kThreads];
  const int tid = static_cast<int>(threadIdx.x);
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * kThreads + tid;
  sum_smem[tid] = i < args.N ? args.x[i] : 0.0f;
  __syncthreads();
  for (int step = 1; step < kThreads; step *= 2) {
    // TODO(2): roughly 1 line, somewhere in this loop; order the accesses of two threads to the
    // TODO(2): same element; budget: one barrier more per step.
    const float earlier = tid >= step ? sum_smem[tid - step] : 0.0f;
    const float sum = sum_smem[tid] + earlier;
    sum_smem[tid] = sum;
    if constexpr (kWatched) {
      if (holds(watch.blocks, blockIdx.x, blockIdx.y, blockIdx.z) &&
          holds(watch.threads, threadIdx.x, threadIdx.y, threadIdx.z)) {
        if (watch.stop) __trap();
        printf("block %u thread %d step %d: added %g, now %g\n", blockIdx.x, tid, step,
               static_cast<double>(earlier), static_cast<double>(sum));
      }
    }
    __syncthreads();  // all elements are updated, so the next step may read them
  }
  if (i < args.N) args.y[i] = sum_smem[tid];
}

}  // namespace

bool is_contiguous(const View& view) {
  if (view.sizes[0] * view.sizes[1] * view.sizes[2] == 0) return true;
  // TODO(3): roughly 6 lines; return false if an axis of two or more elements has another stride
  // TODO(3): than contiguous elements would have; budget: one comparison per axis.
  return true;
}

bool is_on_device(const void* pointer) {
  cudaPointerAttributes attributes{};
  CUDA_CHECK(cudaPointerGetAttributes(&attributes, pointer));
  return attributes.type == cudaMemoryTypeDevice || attributes.type == cudaMemoryTypeManaged;
}

bool fulfils(const std::string& conditions, unsigned x, unsigned y, unsigned z) {
  return holds(parse_where(conditions), x, y, z);
}

namespace {

unsigned running_blocks(const BlockRunningSumArgs& args) {
  ladder::validate_lists(args);
  const std::int64_t blocks = (args.N + kThreads - 1) / kThreads;
  ladder::require(blocks <= INT32_MAX, "N is too large; allowed: up to 2^38 - 128");
  return static_cast<unsigned>(blocks);
}

void block_running_sum(const BlockRunningSumArgs& args) {
  const unsigned blocks = running_blocks(args);
  if (blocks == 0) return;
  block_running_sum_kernel<false><<<blocks, kThreads>>>(args, Watch{});
  CUDA_CHECK(cudaGetLastError());
}

}  // namespace

void watch_running_sum(const BlockRunningSumArgs& args, const std::string& blocks,
                       const std::string& threads, bool stop) {
  const Watch watch{parse_where(blocks), parse_where(threads), stop};
  const unsigned grid = running_blocks(args);
  if (grid == 0) return;
  block_running_sum_kernel<true><<<grid, kThreads>>>(args, watch);
  CUDA_CHECK(cudaGetLastError());       // reports whether it could start
  CUDA_CHECK(cudaDeviceSynchronize());  // reports whether it ran to its end, and flushes printf
}

std::string errors_of_an_impossible_launch() {
  constexpr int kTooMany = 2048;
  std::string said;
  const auto note = [&](const char* call, cudaError_t error) {
    said += std::string(call) + ": " + cudaGetErrorName(error) + "\n";
  };
  block_running_sum_kernel<false><<<1, kTooMany>>>(BlockRunningSumArgs{}, Watch{});
  note("peek", cudaPeekAtLastError());
  note("get", cudaGetLastError());
  note("get again", cudaGetLastError());
  note("synchronize", cudaDeviceSynchronize());
  return said;
}

namespace {

const ladder::Registration block_running_sum_registration{
    {.name = "block_running_sum",
     .device = ladder::DeviceKind::kCuda,
     .rung = true,
     .launchers = ladder::launchers<BlockRunningSum>(block_running_sum)}};

}  // namespace
}  // namespace warmup
