// A launcher cannot reject lengths that are in device memory, because it does not read them. A
// kernel clamps them instead, so bad ones give wrong outputs, but no out-of-bounds access.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

namespace ladder::cuda {

// x, or the nearest number from `least` to `most`.
inline __device__ std::int64_t clamped(std::int64_t x, std::int64_t least, std::int64_t most) {
  return x < least ? least : x > most ? most : x;
}

}  // namespace ladder::cuda
