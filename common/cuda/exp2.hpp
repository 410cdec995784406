// The hardware's fast 2^x, and the constants that convert between powers of e and of 2.
#pragma once

#include <cuda_runtime.h>

#include <cmath>

namespace ladder::cuda {

constexpr float kLog2e = 1.44269504f, kLn2 = 0.693147181f;  // exp(x) = 2^(kLog2e x)

// Relative error 2^-22. Results below 2^-126 are 0. exp2f keeps those, for three instructions.
inline __device__ float exp2_flushed(float x) {
#ifdef __CUDACC__
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
#else
  return x < -126.0f ? 0.0f : std::exp2(x);
#endif
}

}  // namespace ladder::cuda
