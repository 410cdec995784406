// Elements as stored (float, bfloat16 or float16), and as kernels compute with them (always float).
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include "common/core/bfloat16.hpp"
#include "common/core/float16.hpp"

namespace ladder::cuda {

inline __device__ float load(const float* from) {
  return *from;
}
inline __device__ float load(const bfloat16* from) {
  return __bfloat162float(__ushort_as_bfloat16(from->bits));
}
inline __device__ float load(const float16* from) {
  return __half2float(__ushort_as_half(from->bits));
}

// Rounded to nearest, ties to even.
inline __device__ void store(float* to, float value) {
  *to = value;
}
inline __device__ void store(bfloat16* to, float value) {
  to->bits = __bfloat16_as_ushort(__float2bfloat16(value));
}
inline __device__ void store(float16* to, float value) {
  to->bits = __half_as_ushort(__float2half(value));
}

}  // namespace ladder::cuda
