// 12a latency: one thread walks a ring, and the time per step is the latency of one load.
// Change: rewrite. Nothing is computed, and only one load is in flight.
// Why:    a load whose address is the previous value cannot begin before that value arrives.
// Needs:  a ring (kernel.cu makes it), of at most 4,096 elements for shared memory.
// Costs:  one thread of the whole GPU works. See README for measurements.
#include <cuda_runtime.h>

#include <cstdint>
#include <string>

#include "00_warmup/12a_latency/latencies.hpp"
#include "common/core/errors.hpp"
#include "common/cuda/check.hpp"

namespace warmup {
namespace {

template <Level level>
__global__ void walk_kernel(const unsigned* next, unsigned places, unsigned stride,
                            std::int64_t steps, unsigned* where) {
  __shared__ unsigned ring_smem[kSharedPlaces];
  if constexpr (level == Level::kShared) {
    for (unsigned i = 0; i < places; ++i)
      ring_smem[i] = next[i * stride] / stride;
  }
  unsigned at = *where;
  for (std::int64_t step = 0; step < steps; ++step) {
    if constexpr (level == Level::kRegisters) {
      at = at * places + stride;
    } else if constexpr (level == Level::kShared) {
      at = ring_smem[at];
    } else {
      at = next[at];
    }
  }
  *where = at;  // without this store the compiler would remove the walk
}

}  // namespace

void launch_walk(Level level, const unsigned* next, unsigned places, unsigned stride,
                 std::int64_t steps, unsigned* at) {
  ladder::require(places >= 1, "places is 0; allowed: 1 or more");
  ladder::require(stride >= 1, "stride is 0; allowed: 1 or more");
  ladder::require(steps >= 0, "steps is " + std::to_string(steps) + "; allowed: 0 or more");
  ladder::require(level != Level::kShared || places <= kSharedPlaces,
                  "places is " + std::to_string(places) + "; shared memory allows up to " +
                      std::to_string(kSharedPlaces));
  if (level == Level::kRegisters) {
    walk_kernel<Level::kRegisters><<<1, 1>>>(next, places, stride, steps, at);
  } else if (level == Level::kShared) {
    walk_kernel<Level::kShared><<<1, 1>>>(next, places, stride, steps, at);
  } else {
    walk_kernel<Level::kGlobal><<<1, 1>>>(next, places, stride, steps, at);
  }
  CUDA_CHECK(cudaGetLastError());
}

}  // namespace warmup
