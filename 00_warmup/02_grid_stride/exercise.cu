// c = a + b with a grid that is chosen for the GPU, not for N.
// Change: rewrite. Each thread advances by the size of the grid until the vectors end.
// Why:    any grid gives the right result, so the grid can be chosen for speed.
// Needs:  any N and any CUDA GPU.
// Costs:  each number is read or written once, by 16-byte accesses where all pointers allow them.
#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>

#include "00_warmup/02_grid_stride/grid_stride.hpp"
#include "common/core/errors.hpp"
#include "common/core/lists.hpp"
#include "common/core/registry.hpp"
#include "common/cuda/check.hpp"
#include "common/cuda/multiprocessors.hpp"

namespace warmup {
namespace {

constexpr int kThreads = 256;                // per block
constexpr int kBlocksPerMultiprocessor = 8;  // 8 * 256 threads are the most that an SM holds
constexpr int kVector = 4;                   // floats in 16 bytes
constexpr int kMoreBlocks = 256;             // per SM with vectors, the best in a measurement

// ---- A thread for each element ----

__global__ void __launch_bounds__(kThreads) add_per_element_kernel(const VectorAddArgs args) {
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (i < args.N) args.c[i] = args.a[i] + args.b[i];
}

}  // namespace

void add_per_element_on(const VectorAddArgs& args, std::int64_t blocks) {
  add_per_element_kernel<<<static_cast<unsigned>(blocks), kThreads>>>(args);
  CUDA_CHECK(cudaGetLastError());
}

std::int64_t unwritten_elements(std::int64_t N, std::int64_t blocks) {
  // TODO(1): roughly 1 line; return how many of the N elements are past the grid's last thread, 0
  // TODO(1): if none is; budget: no loop
  return 0;  // until hole 1 is filled
}

namespace {

void vector_add_per_element(const VectorAddArgs& args) {
  ladder::validate_lists(args);
  if (args.N == 0) return;
  const std::int64_t blocks = (args.N + kThreads - 1) / kThreads;
  ladder::require(blocks <= INT32_MAX, "N is too large; allowed: up to 256 * (2^31 - 1)");
  add_per_element_on(args, blocks);
}

// ---- A grid-stride loop ----

__global__ void __launch_bounds__(kThreads) add_grid_stride_kernel(const VectorAddArgs args) {
  const std::int64_t first = static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  const std::int64_t stride = static_cast<std::int64_t>(gridDim.x) * kThreads;
  // TODO(2): roughly 2 lines; add this thread's elements: number `first`, and one every `stride`;
  // TODO(2): budget: one read of a, one of b, one store of c for each element
}

}  // namespace

void add_grid_stride_on(const VectorAddArgs& args, std::int64_t blocks) {
  add_grid_stride_kernel<<<static_cast<unsigned>(blocks), kThreads>>>(args);
  CUDA_CHECK(cudaGetLastError());
}

std::int64_t blocks_for(std::int64_t items, std::int64_t multiprocessors,
                        std::int64_t per_multiprocessor) {
  // TODO(3): roughly 2 lines; return the number of blocks that have work, but at least 1, and at
  // TODO(3): most `per_multiprocessor` for each SM; budget: no loop
  return 1;  // until hole 3 is filled
}

namespace {

void vector_add_grid_stride(const VectorAddArgs& args) {
  ladder::validate_lists(args);
  if (args.N == 0) return;
  add_grid_stride_on(
      args, blocks_for(args.N, ladder::cuda::multiprocessor_count(), kBlocksPerMultiprocessor));
}

// ---- The same, four elements at a time ----

__device__ float4 sum_of(float4 a, float4 b) {
  return make_float4(a.x + b.x, a.y + b.y, a.z + b.z, a.w + b.w);
}

// The first 4 * `vectors` elements are at addresses that allow 16-byte accesses.
__global__ void __launch_bounds__(kThreads)
    add_vectors_kernel(const VectorAddArgs args, std::int64_t vectors) {
  const std::int64_t first = static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  const std::int64_t stride = static_cast<std::int64_t>(gridDim.x) * kThreads;
  const auto* a = reinterpret_cast<const float4*>(args.a);
  const auto* b = reinterpret_cast<const float4*>(args.b);
  auto* c = reinterpret_cast<float4*>(args.c);
  for (std::int64_t i = first; i < vectors; i += stride) {
    const float4 a4 = a[i], b4 = b[i], sum = sum_of(a4, b4);
    c[i] = sum;
  }
  for (std::int64_t j = kVector * vectors + first; j < args.N; j += stride)
    args.c[j] = args.a[j] + args.b[j];
}

void vector_add_vectors(const VectorAddArgs& args) {
  ladder::validate_lists(args);
  if (args.N == 0) return;
  const auto addresses = reinterpret_cast<std::uintptr_t>(args.a) |
                         reinterpret_cast<std::uintptr_t>(args.b) |
                         reinterpret_cast<std::uintptr_t>(args.c);
  const std::int64_t vectors = addresses % sizeof(float4) == 0 ? args.N / kVector : 0;
  const std::int64_t items = std::max(vectors, args.N - kVector * vectors);
  const std::int64_t blocks = blocks_for(items, ladder::cuda::multiprocessor_count(), kMoreBlocks);
  add_vectors_kernel<<<static_cast<unsigned>(blocks), kThreads>>>(args, vectors);
  CUDA_CHECK(cudaGetLastError());
}

const ladder::Registration vector_add_per_element_registration{
    {.name = "vector_add_per_element",
     .step = 1,
     .device = ladder::DeviceKind::kCuda,
     .launchers = ladder::launchers<VectorAdd>(vector_add_per_element)}};

const ladder::Registration vector_add_grid_stride_registration{
    {.name = "vector_add_grid_stride",
     .step = 2,
     .device = ladder::DeviceKind::kCuda,
     .launchers = ladder::launchers<VectorAdd>(vector_add_grid_stride)}};

const ladder::Registration vector_add_vectors_registration{
    {.name = "vector_add_vectors",
     .step = 3,
     .device = ladder::DeviceKind::kCuda,
     .rung = true,
     .launchers = ladder::launchers<VectorAdd>(vector_add_vectors)}};

}  // namespace
}  // namespace warmup
