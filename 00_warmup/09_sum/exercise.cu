// 00.09 sum: the sum of a vector, by atomics, by a tree in shared memory, by shuffles.
// Change: rewrite. Threads add each other's sums, half as many each time, before one adds to y.
// Why:    atomics on one address wait for each other, but the additions of a tree's level do not.
// Needs:  any N, fp32. Steps 3 and 4 need x aligned to 16 bytes.
// Costs:  one read per element. Per element an atomic, then one per block, then none. See README.
#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>

#include "00_warmup/09_sum/sum.hpp"
#include "common/core/errors.hpp"
#include "common/core/lists.hpp"
#include "common/core/registry.hpp"
#include "common/cuda/check.hpp"
#include "common/cuda/multiprocessors.hpp"
#include "common/cuda/scratch.hpp"

namespace warmup {
namespace {

constexpr int kThreads = 256, kWarpSize = 32, kWarps = kThreads / kWarpSize;
constexpr int kVec = 4;       // floats in 16 bytes
constexpr int kSpeaker = 1;   // the thread that stores its block's sum, which all of them hold
constexpr int kInFlight = 4;  // 16-byte loads of a thread before it adds the first
constexpr int kBlocksPerMultiprocessor = 8;  // 8 x 256 threads are the most that an SM holds

unsigned blocks_for(std::int64_t N) {
  const std::int64_t blocks = (N + kThreads - 1) / kThreads;
  ladder::require(blocks <= INT32_MAX, "N is too large; allowed: up to 2^39 - 256");
  return static_cast<unsigned>(blocks);
}

// ---- Step 1: an atomic addition per element ----

__global__ void __launch_bounds__(kThreads) sum_atomic_kernel(SumArgs args) {
  const std::int64_t n = static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (n < args.N) atomicAdd(args.y, args.x[n]);
}

// ---- Step 2: a tree in each block's shared memory ----

__global__ void __launch_bounds__(kThreads) sum_tree_kernel(SumArgs args) {
  // TODO(1): roughly 9 lines, the whole kernel; each thread stores one element of x, 0 past the
  // TODO(1): end, in shared memory; then half of the threads add the other half's sums, then a
  // TODO(1): quarter, down to one thread, which adds to *args.y; budget: one global read per
  // TODO(1): element, one atomic per block.
}

// ---- Step 3: shuffles, and 16-byte loads in flight ----

// The sum over the lanes of a warp, returned to every lane.
__device__ float warp_sum(float x) {
  // TODO(2): roughly 2 lines; each lane adds to its x that of the lane whose index differs in one
  // TODO(2): bit, for each of the five bits; budget: five shuffles, no shared memory.
  return x;
}

// The sum over the threads of a block, returned to every thread.
__device__ float block_sum(float x) {
  __shared__ float of_warp_smem[kWarps];
  const int lane = threadIdx.x % kWarpSize, warp = threadIdx.x / kWarpSize;
  x = warp_sum(x);
  if (lane == 0) of_warp_smem[warp] = x;
  __syncthreads();
  return warp_sum(lane < kWarps ? of_warp_smem[lane] : 0.0f);
}

// This thread's sum of every vector whose index is its own modulo the grid's threads, and of at
// most one of the last N % 4 elements.
__device__ float thread_sum(const float* x, std::int64_t N) {
  const std::int64_t thread = static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  const std::int64_t threads = static_cast<std::int64_t>(gridDim.x) * kThreads;
  const std::int64_t vectors = N / kVec;
  const float4* const x4 = reinterpret_cast<const float4*>(x);
  float sum[kInFlight] = {};
  std::int64_t v = thread;
  for (; v + (kInFlight - 1) * threads < vectors; v += kInFlight * threads) {
    float4 held[kInFlight];
    for (int i = 0; i < kInFlight; ++i)
      held[i] = x4[v + i * threads];
    for (int i = 0; i < kInFlight; ++i)
      sum[i] += (held[i].x + held[i].y) + (held[i].z + held[i].w);
  }
  for (; v < vectors; v += threads) {
    const float4 held = x4[v];
    sum[0] += (held.x + held.y) + (held.z + held.w);
  }
  if (vectors * kVec + thread < N) sum[1] += x[vectors * kVec + thread];
  return (sum[0] + sum[1]) + (sum[2] + sum[3]);
}

__global__ void __launch_bounds__(kThreads) sum_shuffle_kernel(SumArgs args) {
  const float sum = block_sum(thread_sum(args.x, args.N));
  if (threadIdx.x == kSpeaker) atomicAdd(args.y, sum);
}

// ---- Step 4: no atomics. The blocks' sums are a vector, and the kernel sums it, too ----

__global__ void __launch_bounds__(kThreads)
    sum_pass_kernel(const float* x, std::int64_t N, float* sums) {
  const float sum = block_sum(thread_sum(x, N));
  if (threadIdx.x == kSpeaker) sums[blockIdx.x] = sum;
}

// ---- Launchers ----

// At most as many blocks as run at once, with a vector or more for each thread.
unsigned blocks_at_once(std::int64_t N) {
  const std::int64_t most =
      std::int64_t{kBlocksPerMultiprocessor} * ladder::cuda::multiprocessor_count();
  return static_cast<unsigned>(
      std::min(most, std::max<std::int64_t>(1, (N / kVec + kThreads - 1) / kThreads)));
}

void sum_atomic(const SumArgs& args) {
  ladder::validate_lists(args);
  const unsigned blocks = blocks_for(args.N);
  CUDA_CHECK(cudaMemsetAsync(args.y, 0, sizeof(float)));
  if (blocks == 0) return;
  sum_atomic_kernel<<<blocks, kThreads>>>(args);
  CUDA_CHECK(cudaGetLastError());
}

void sum_tree(const SumArgs& args) {
  ladder::validate_lists(args);
  const unsigned blocks = blocks_for(args.N);
  CUDA_CHECK(cudaMemsetAsync(args.y, 0, sizeof(float)));
  if (blocks == 0) return;
  sum_tree_kernel<<<blocks, kThreads>>>(args);
  CUDA_CHECK(cudaGetLastError());
}

void sum_shuffle(const SumArgs& args) {
  ladder::validate_lists(args);
  if (args.N > 0) ladder::require_pointer("x", args.x, sizeof(float4));
  CUDA_CHECK(cudaMemsetAsync(args.y, 0, sizeof(float)));
  sum_shuffle_kernel<<<blocks_at_once(args.N), kThreads>>>(args);
  CUDA_CHECK(cudaGetLastError());
}

void sum_two_passes(const SumArgs& args) {
  ladder::validate_lists(args);
  if (args.N > 0) ladder::require_pointer("x", args.x, sizeof(float4));
  const unsigned blocks = blocks_at_once(args.N);
  const ladder::cuda::Scratch<float> sums(blocks);
  sum_pass_kernel<<<blocks, kThreads>>>(args.x, args.N, sums.pointer());
  sum_pass_kernel<<<1, kThreads>>>(sums.pointer(), blocks, args.y);
  CUDA_CHECK(cudaGetLastError());
}

const ladder::Registration sum_atomic_registration{
    {.name = "sum_atomic",
     .step = 1,
     .device = ladder::DeviceKind::kCuda,
     .rung = true,
     .launchers = ladder::launchers<Sum>(sum_atomic)}};

const ladder::Registration sum_tree_registration{{.name = "sum_tree",
                                                  .step = 2,
                                                  .device = ladder::DeviceKind::kCuda,
                                                  .rung = true,
                                                  .launchers = ladder::launchers<Sum>(sum_tree)}};

const ladder::Registration sum_shuffle_registration{
    {.name = "sum_shuffle",
     .step = 3,
     .device = ladder::DeviceKind::kCuda,
     .rung = true,
     .launchers = ladder::launchers<Sum>(sum_shuffle)}};

const ladder::Registration sum_two_passes_registration{
    {.name = "sum_two_passes",
     .step = 4,
     .device = ladder::DeviceKind::kCuda,
     .rung = true,
     .launchers = ladder::launchers<Sum>(sum_two_passes)}};

}  // namespace
}  // namespace warmup
