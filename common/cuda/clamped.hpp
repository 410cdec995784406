// Lengths that lie on the device cannot be refused by a launcher, which does not read them. A kernel clamps them instead: bad ones
// give wrong outputs, and no access outside of the arrays.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

namespace ladder::cuda {

// x, or the nearest number from `least` to `most`.
inline __device__ std::int64_t clamped(std::int64_t x, std::int64_t least, std::int64_t most) {
  return x < least ? least : x > most ? most : x;
}

}  // namespace ladder::cuda
