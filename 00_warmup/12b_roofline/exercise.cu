// 12b roofline: a kernel with chosen arithmetic, its occupancy, and kernels under the roofline.
// Change: rewrite. Lesson 12a's y = factor * x with any number of FMAs, not one multiplication.
// Why:    few FMAs take less time than memory, many take more. One kernel covers both sides.
// Needs:  any N, up to 2^20 rounds.
// Costs:  8 bytes and 2 * rounds operations per element. See README for measurements.
#include <cuda_runtime.h>

#include <algorithm>
#include <array>
#include <cstdint>

#include "00_warmup/12b_roofline/multiply_adds.hpp"
#include "00_warmup/12b_roofline/occupancy.hpp"
#include "00_warmup/12b_roofline/roofline.hpp"
#include "common/core/errors.hpp"
#include "common/core/lists.hpp"
#include "common/core/registry.hpp"
#include "common/cuda/check.hpp"

namespace warmup {
namespace {

constexpr int kThreads = 256;
constexpr double kTile = 32;  // of lesson 14's product

__global__ void __launch_bounds__(kThreads) multiply_adds_kernel(const MultiplyAddsArgs args) {
  const std::int64_t n = static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (n >= args.N) return;
  float value = args.x[n];
  for (std::int64_t round = 0; round < args.rounds; ++round)
    value = args.factor * value + 1.0f;
  args.y[n] = value;
}

void multiply_adds(const MultiplyAddsArgs& args) {
  ladder::validate_lists(args);
  if (args.N == 0) return;
  const std::int64_t blocks = (args.N - 1) / kThreads + 1;
  ladder::require(blocks <= INT32_MAX, "N is too large; allowed: up to 2^39 - 256");
  multiply_adds_kernel<<<static_cast<unsigned>(blocks), kThreads>>>(args);
  CUDA_CHECK(cudaGetLastError());
}

int rounded_up(int number, int to_multiples_of) {
  return (number + to_multiples_of - 1) / to_multiples_of * to_multiples_of;
}

}  // namespace

int blocks_per_multiprocessor(int threads, int registers_per_thread, int shared_bytes) {
  const Multiprocessor has;
  if (threads > has.most_threads_of_block || registers_per_thread > has.most_registers_of_thread ||
      shared_bytes > has.most_shared_bytes_of_block)
    return 0;
  int blocks = has.blocks;
  // TODO(1): roughly 6 lines; compute how many blocks warps, registers and shared memory each
  // TODO(1): allow, and make `blocks` the minimum of all four limits; budget: no loop
  return blocks;
}

OccupancyByCuda occupancy_by_cuda() {
  OccupancyByCuda result{.threads = kThreads};
#ifdef __CUDACC__
  cudaFuncAttributes attributes;
  CUDA_CHECK(cudaFuncGetAttributes(&attributes, multiply_adds_kernel));
  result.registers_per_thread = attributes.numRegs;
  result.shared_bytes = static_cast<int>(attributes.sharedSizeBytes);
#endif
  CUDA_CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&result.blocks, multiply_adds_kernel,
                                                           kThreads, 0));
  int device = 0, major = 0;
  CUDA_CHECK(cudaGetDevice(&device));
  CUDA_CHECK(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device));
  result.compute_capability_9 = major == 9;
  return result;
}

Place place(const Work& work, const Machine& machine) {
  Place result;
  // TODO(2): roughly 5 lines; compute the three members of `result`; budget: three divisions
  return result;
}

std::array<Work, 3> three_kernels(double n) {
  std::array<Work, 3> work;
  // TODO(3): roughly 3 lines; set bytes and operations of the three kernels in roofline.hpp; the
  // TODO(3): first two move each array once, the third's bytes are those that its threads load;
  // TODO(3): budget: no loop; a float has 4 bytes, a multiply-add is two operations
  return work;
}

namespace {

const ladder::Registration multiply_adds_registration{
    {.name = "multiply_adds",
     .device = ladder::DeviceKind::kCuda,
     .rung = true,
     .launchers = ladder::launchers<MultiplyAdds>(multiply_adds)}};

}  // namespace
}  // namespace warmup
