// What a softcap makes of scores.
#pragma once

#include <cuda_runtime.h>

#include "common/cuda/exp2.hpp"

namespace flash_attention {

// A score x becomes softcap tanh(x / softcap), with tanh(x) = 1 - 2 / (1 + exp(2 x)). A softcap of 0 is none.
struct Softcap {
  float softcap, to_power;

  explicit __device__ Softcap(float softcap)
      : softcap(softcap), to_power(2 * ladder::cuda::kLog2e / softcap) {}
  __device__ float bent(float score) const {
    const float power = ladder::cuda::exp2_flushed(to_power * score);
    return softcap > 0.0f ? softcap - __fdividef(2 * softcap, 1 + power) : score;
  }
};

}  // namespace flash_attention
