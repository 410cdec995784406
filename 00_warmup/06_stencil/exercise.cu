// 00.06 stencil: the mean of an element and its neighbours, from global and from shared memory.
// Change: rewrite. A block loads its part of x into shared memory once, where its threads read it.
// Why:    2 R + 1 threads need the same element, and shared memory saves their global loads.
// Needs:  any N, R up to 32, and any CUDA GPU.
// Costs:  768 bytes of shared memory and one barrier per block. See README for measurements.
#include <cuda_runtime.h>

#include <cstdint>
#include <string>

#include "00_warmup/06_stencil/moving_mean.hpp"
#include "common/core/errors.hpp"
#include "common/core/lists.hpp"
#include "common/core/registry.hpp"
#include "common/cuda/check.hpp"

namespace warmup {
namespace {

constexpr int kThreads = 128;  // per block, and elements of a tile without its halo
constexpr int kMostHalo = static_cast<int>(kMostRadius);

// x[i], or 0 out of bounds.
__device__ float element_or_zero(const MovingMeanArgs& args, std::int64_t i) {
  return i >= 0 && i < args.N ? args.x[i] : 0.0f;
}

__global__ void __launch_bounds__(kThreads) stencil_global_kernel(const MovingMeanArgs args) {
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (i >= args.N) return;
  const int R = static_cast<int>(args.R);
  float sum = 0;
  for (int j = -R; j <= R; ++j)
    sum += element_or_zero(args, i + j);
  args.y[i] = sum / static_cast<float>(2 * R + 1);
}

__global__ void __launch_bounds__(kThreads) stencil_shared_kernel(const MovingMeanArgs args) {
  // x[begin - R] to x[begin + kThreads + R - 1], with begin the block's first element
  __shared__ float tile_smem[kThreads + 2 * kMostHalo];
  const int tid = static_cast<int>(threadIdx.x), R = static_cast<int>(args.R);
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * kThreads + tid;
  tile_smem[R + tid] = element_or_zero(args, i);
  // TODO(1): roughly 4 lines; the first R threads load one element of the left halo and one of the
  // TODO(1): right halo each; budget: 2 R global loads per block.
  // The tile is complete.
  // TODO(2): roughly 1 line; no thread reads the tile before all threads have written it;
  // TODO(2): budget: one barrier.
  float sum = 0;
  for (int j = -R; j <= R; ++j)
    sum += tile_smem[R + tid + j];
  __syncthreads();  // TODO(3): roughly 0 lines; is this one needed? budget: one barrier per block.
  if (i < args.N) args.y[i] = sum / static_cast<float>(2 * R + 1);
}

// Checks the arguments.
unsigned stencil_blocks(const MovingMeanArgs& args) {
  ladder::validate_lists(args);
  ladder::require(args.R <= kMostRadius, "R is " + std::to_string(args.R) + "; allowed: 0 to 32");
  const std::int64_t blocks = (args.N + kThreads - 1) / kThreads;
  ladder::require(blocks <= INT32_MAX, "N is too large; allowed: up to 2^38 - 128");
  return static_cast<unsigned>(blocks);
}

void stencil_global(const MovingMeanArgs& args) {
  const unsigned blocks = stencil_blocks(args);
  if (blocks == 0) return;
  stencil_global_kernel<<<blocks, kThreads>>>(args);
  CUDA_CHECK(cudaGetLastError());
}

void stencil_shared(const MovingMeanArgs& args) {
  const unsigned blocks = stencil_blocks(args);
  if (blocks == 0) return;
  stencil_shared_kernel<<<blocks, kThreads>>>(args);
  CUDA_CHECK(cudaGetLastError());
}

const ladder::Registration stencil_global_registration{
    {.name = "stencil_global",
     .step = 1,
     .device = ladder::DeviceKind::kCuda,
     .rung = true,
     .launchers = ladder::launchers<MovingMean>(stencil_global)}};
const ladder::Registration stencil_shared_registration{
    {.name = "stencil_shared",
     .step = 2,
     .device = ladder::DeviceKind::kCuda,
     .rung = true,
     .launchers = ladder::launchers<MovingMean>(stencil_shared)}};

}  // namespace
}  // namespace warmup
