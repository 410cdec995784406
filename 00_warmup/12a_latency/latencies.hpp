// The latency of one load, by a walk in which each load's address is the previous load's value.
#pragma once

#include <cstdint>
#include <vector>

namespace warmup {

// next[i] is the element after i. A walk from any element visits all others, in a pseudo-random
// order, before it returns. At least one element.
std::vector<unsigned> ring(unsigned places, unsigned seed);

enum class Level {
  kRegisters,  // no load, but each step multiplies the previous value and adds to it
  kShared,     // the ring is first copied to shared memory, at most kSharedPlaces elements
  kGlobal,     // L1, L2 or device memory, by the size of the ring
};
constexpr unsigned kSharedPlaces = 4096;

// One thread walks `steps` steps from the element in `at`, and stores the last one in `at`. The
// next walk continues there, with elements that no cache holds yet if the ring is large. `next`
// contains places * stride elements, with next[i * stride] = ring[i] * stride. For shared memory
// `at` counts elements of the ring, for other levels elements of `next`. All pointers are to device
// memory.
void launch_walk(Level level, const unsigned* next, unsigned places, unsigned stride,
                 std::int64_t steps, unsigned* at);

}  // namespace warmup
