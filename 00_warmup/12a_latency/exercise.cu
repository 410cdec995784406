// 12a latency: y = factor * x with four 16-byte loads per thread in flight, a ring for latencies.
// Change: rewrite. A thread issues all its loads before it waits for the first.
// Why:    memory speed is bytes in flight divided by latency, so more bytes in flight are faster.
// Needs:  any N, and x and y aligned to 16 bytes.
// Costs:  16 registers for loads in flight, and fewer threads for small N.
#include <cuda_runtime.h>

#include <cstdint>
#include <numeric>
#include <random>
#include <utility>
#include <vector>

#include "00_warmup/12a_latency/latencies.hpp"
#include "00_warmup/12a_latency/scale.hpp"
#include "common/core/errors.hpp"
#include "common/core/lists.hpp"
#include "common/core/registry.hpp"
#include "common/cuda/check.hpp"

namespace warmup {
namespace {

constexpr int kScaleThreads = 256;
constexpr int kInFlight = 4;                             // loads in flight per thread
constexpr int kFloats = sizeof(float4) / sizeof(float);  // in each load
constexpr int kOfABlock = kScaleThreads * kInFlight;     // loads per block

__device__ void multiply_four(float4& x, float factor) {
  x.x *= factor, x.y *= factor, x.z *= factor, x.w *= factor;
}

__global__ void __launch_bounds__(kScaleThreads) scale_in_flight_kernel(const ScaleArgs args) {
  const auto* x = reinterpret_cast<const float4*>(args.x);
  auto* y = reinterpret_cast<float4*>(args.y);
  const std::int64_t fours = args.N / kFloats;
  const std::int64_t first = static_cast<std::int64_t>(blockIdx.x) * kOfABlock + threadIdx.x;

  float4 loaded[kInFlight];
  for (int i = 0; i < kInFlight; ++i) {
    const std::int64_t four = first + i * kScaleThreads;
    // TODO(2): roughly 1 line; load vector `four`, if it exists; budget: a load of 16 bytes
  }
  for (int i = 0; i < kInFlight; ++i) {
    const std::int64_t four = first + i * kScaleThreads;
    // TODO(2): roughly 3 lines; multiply and store vector `four`, if it exists; budget: no load, a
    // TODO(2): store of 16 bytes
  }

  // Up to three elements remain.
  const std::int64_t n = fours * kFloats + first;
  if (n < args.N) args.y[n] = args.factor * args.x[n];
}

void scale_in_flight(const ScaleArgs& args) {
  ladder::validate_lists(args);
  if (args.N == 0) return;
  ladder::require_pointer("x", args.x, alignof(float4));
  ladder::require_pointer("y", args.y, alignof(float4));
  constexpr std::int64_t kElements = std::int64_t{kOfABlock} * kFloats;
  const std::int64_t blocks = args.N / kElements + 1;
  ladder::require(blocks <= INT32_MAX, "N is too large; allowed: up to 2^43 - 8193");
  scale_in_flight_kernel<<<static_cast<unsigned>(blocks), kScaleThreads>>>(args);
  CUDA_CHECK(cudaGetLastError());
}

}  // namespace

std::vector<unsigned> ring(unsigned places, unsigned seed) {
  std::vector<unsigned> next(places);
  // TODO(1): roughly 4 lines; make `next` one ring of all elements, in a pseudo-random order;
  // TODO(1): budget: one swap per element
  return next;
}

namespace {

const ladder::Registration scale_in_flight_registration{
    {.name = "scale_in_flight",
     .step = 2,
     .device = ladder::DeviceKind::kCuda,
     .rung = true,
     .launchers = ladder::launchers<Scale>(scale_in_flight)}};

}  // namespace
}  // namespace warmup
