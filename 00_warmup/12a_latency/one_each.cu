// 12a latency, step 1: y = factor * x, one load of 4 bytes in each thread.
// Change: none, this is the first kernel of the lesson.
// Why:    the shortest possible kernel, which shows how many bytes its threads have in flight.
// Needs:  any N.
// Costs:  4 bytes in flight per thread, so an SM needs as many threads as it can hold.
#include <cuda_runtime.h>

#include <cstdint>

#include "00_warmup/12a_latency/scale.hpp"
#include "common/core/errors.hpp"
#include "common/core/lists.hpp"
#include "common/core/registry.hpp"
#include "common/cuda/check.hpp"

namespace warmup {
namespace {

constexpr int kOneEachThreads = 256;

__global__ void __launch_bounds__(kOneEachThreads) scale_one_each_kernel(const ScaleArgs args) {
  const std::int64_t n = static_cast<std::int64_t>(blockIdx.x) * kOneEachThreads + threadIdx.x;
  if (n < args.N) args.y[n] = args.factor * args.x[n];
}

void scale_one_each(const ScaleArgs& args) {
  ladder::validate_lists(args);
  if (args.N == 0) return;
  const std::int64_t blocks = (args.N - 1) / kOneEachThreads + 1;
  ladder::require(blocks <= INT32_MAX, "N is too large; allowed: up to 2^39 - 256");
  scale_one_each_kernel<<<static_cast<unsigned>(blocks), kOneEachThreads>>>(args);
  CUDA_CHECK(cudaGetLastError());
}

const ladder::Registration scale_one_each_registration{
    {.name = "scale_one_each",
     .step = 1,
     .device = ladder::DeviceKind::kCuda,
     .rung = true,
     .launchers = ladder::launchers<Scale>(scale_one_each)}};

}  // namespace
}  // namespace warmup
