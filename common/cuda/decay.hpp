// The factor of a decay, exp(log_w): one product and one instruction of the special-function unit.
#pragma once

#include <cuda_runtime.h>

#include "common/cuda/exp2.hpp"

namespace ladder::cuda {

// For log_w <= 0, including -inf, where the result is 0.
// The relative error is about (2 + 2 |log_w|) 2^-23.
// A result below 2^-126 becomes 0.
inline __device__ float decay_factor(float log_w) {
  return exp2_flushed(log_w * kLog2e);
}

}  // namespace ladder::cuda
