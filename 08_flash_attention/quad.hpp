// Rows of a product on tensor cores, as they lie in a warp's registers: four neighbouring lanes, a quad, share a row, and of each
// 16 x 8 block a lane has two columns of row lane / 4 and two of row lane / 4 + 8 (common/cuda/tensor_core.hpp).
#pragma once

#include <cuda_runtime.h>

#include <cmath>
#include <cstdint>

#include "common/cuda/tensor_core.hpp"

namespace flash_attention {

constexpr int kWarpSize = 32;
constexpr unsigned kAllLanes = 0xffffffffu;

// The largest value of a quad; each of its lanes gets it.
inline __device__ float quad_max(float x) {
  x = fmaxf(x, __shfl_xor_sync(kAllLanes, x, 1));
  return fmaxf(x, __shfl_xor_sync(kAllLanes, x, 2));
}
inline __device__ float quad_sum(float x) {
  x += __shfl_xor_sync(kAllLanes, x, 1);
  return x + __shfl_xor_sync(kAllLanes, x, 2);
}

// Two blocks side by side, rounded, as the left factor of the next product.
template <typename Element>
__device__ void pack_factor(std::uint32_t (&a)[4], const float (&left)[4],
                            const float (&right)[4]) {
  a[0] = ladder::cuda::pack<Element>(left[0], left[1]);
  a[1] = ladder::cuda::pack<Element>(left[2], left[3]);
  a[2] = ladder::cuda::pack<Element>(right[0], right[1]);
  a[3] = ladder::cuda::pack<Element>(right[2], right[3]);
}

}  // namespace flash_attention
