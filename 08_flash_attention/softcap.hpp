// The softcap of scores, for kernels with any layout of scores in registers.
#pragma once

#include <cuda_runtime.h>

#include "common/cuda/exp2.hpp"

namespace flash_attention {

// factor r of tanh(x) = 1 - 2 r with r = 1 / (1 + exp(2 x)).
inline __device__ float tanh_term(float factor, float exp_of_2x) {
  return __fdividef(factor, 1 + exp_of_2x);
}

// A score x becomes softcap tanh(x / softcap). A softcap of 0 means none.
struct Softcap {
  float softcap, to_power;

  explicit __device__ Softcap(float softcap)
      : softcap(softcap), to_power(2 * ladder::cuda::kLog2e / softcap) {}
  __device__ float bent(float score) const {
    const float power = ladder::cuda::exp2_flushed(to_power * score);
    return softcap > 0.0f ? softcap - tanh_term(2 * softcap, power) : score;
  }
};

}  // namespace flash_attention
