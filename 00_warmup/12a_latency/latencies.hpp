// How long one load takes: a walk in which each load's address is the value that the load before has brought.
#pragma once

#include <cstdint>
#include <vector>

namespace warmup {

// next[i] is the place after i. From any place a walk comes to all others, in an order that looks like chance, before it is back.
// At least one place.
std::vector<unsigned> ring(unsigned places, unsigned seed);

enum class Level {
  kRegisters,  // no load: each step is an addition and a multiplication of the value before
  kShared,     // the ring is copied to shared memory first; it has at most kSharedPlaces places
  kGlobal,     // L1, L2 or device memory: wherever a ring of this size lies
};
constexpr unsigned kSharedPlaces = 4096;

// One thread goes `steps` steps from the place in `at` and writes to `at` where it is then: the next walk goes on from there, through
// places that no cache has seen yet if the ring is large. `next` has places * stride elements, those of the ring `stride` apart and
// multiplied by it: next[i * stride] = ring[i] * stride. For shared memory `at` counts places, for the other levels elements. All is
// device memory.
void launch_walk(Level level, const unsigned* next, unsigned places, unsigned stride,
                 std::int64_t steps, unsigned* at);

}  // namespace warmup
