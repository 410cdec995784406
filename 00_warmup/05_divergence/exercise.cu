// 00.05 divergence: elements of two kinds, by warps that split and by warps that do not.
// Change: rewrite. A thread computes the element of its index, or one of its whole warp's kind.
// Why:    a warp whose lanes take both sides of a branch runs both sides sequentially.
// Needs:  any N, K of 1 or more, and any CUDA GPU.
// Costs:  parity_by_warp halves the requests for coefficients. Its reads of x are 2 elements apart.
//         See README for measurements.
#include <cuda_runtime.h>

#include <cstdint>

#include "00_warmup/05_divergence/two_sides.hpp"
#include "common/core/errors.hpp"
#include "common/core/lists.hpp"
#include "common/core/registry.hpp"
#include "common/cuda/check.hpp"

namespace warmup {
namespace {

constexpr int kWarpSize = 32;
constexpr int kThreads = 128;  // per block, in whole pairs of warps

// Horner's rule, from the highest power down.
__device__ float polynomial(const TwoSidesArgs& args, float x) {
  float sum = 0;
  for (std::int64_t k = args.K - 1; k >= 0; --k)
    sum = sum * x + args.p[k];
  return sum;
}

__device__ float largest_product(const TwoSidesArgs& args, float x) {
  float largest = args.q[0] * x;
  // TODO(1): roughly 2 lines; make `largest` the largest of all K products with x; fmaxf(a, b) is
  // TODO(1): the larger of two floats; budget: one load of a coefficient per product.
  return largest;
}

// Thread i computes element i. In every warp the even lanes take one side, the odd lanes the other.
__global__ void __launch_bounds__(kThreads) parity_split_kernel(const TwoSidesArgs args) {
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (i >= args.N) return;
  const float x = args.x[i];
  float result;
  if (i % 2 == 0) {
    result = polynomial(args, x);
  } else {
    result = largest_product(args, x);
  }
  args.y[i] = result;
}

// Two warps share 64 elements. The first computes the even ones, the second the odd ones.
__global__ void __launch_bounds__(kThreads) parity_by_warp_kernel(const TwoSidesArgs args) {
  const std::int64_t thread = static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  const std::int64_t lane = thread % kWarpSize, warp = thread / kWarpSize;
  // TODO(2): roughly 10 lines; compute as parity_split_kernel does, but all lanes of a warp have
  // TODO(2): even elements, or all have odd ones; budget: one load request per warp for x, and K
  // TODO(2): for the coefficients.
}

// Checks the arguments. Returns whole blocks, which hold whole pairs of warps.
unsigned parity_blocks(const TwoSidesArgs& args) {
  ladder::validate_lists(args);
  const std::int64_t blocks = (args.N + kThreads - 1) / kThreads;
  ladder::require(blocks <= INT32_MAX, "N is too large; allowed: up to 2^38 - 128");
  return static_cast<unsigned>(blocks);
}

void parity_split(const TwoSidesArgs& args) {
  const unsigned blocks = parity_blocks(args);
  if (blocks == 0) return;
  parity_split_kernel<<<blocks, kThreads>>>(args);
  CUDA_CHECK(cudaGetLastError());
}

void parity_by_warp(const TwoSidesArgs& args) {
  const unsigned blocks = parity_blocks(args);
  if (blocks == 0) return;
  parity_by_warp_kernel<<<blocks, kThreads>>>(args);
  CUDA_CHECK(cudaGetLastError());
}

const ladder::Registration parity_split_registration{
    {.name = "parity_split",
     .step = 1,
     .device = ladder::DeviceKind::kCuda,
     .rung = true,
     .launchers = ladder::launchers<TwoSides>(parity_split)}};
const ladder::Registration parity_by_warp_registration{
    {.name = "parity_by_warp",
     .step = 2,
     .device = ladder::DeviceKind::kCuda,
     .rung = true,
     .launchers = ladder::launchers<TwoSides>(parity_by_warp)}};

}  // namespace
}  // namespace warmup
