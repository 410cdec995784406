// How a thread reads and writes neighbours in a row of a tensor: the one place that knows how an element is stored.
#pragma once

#include <cuda_runtime.h>

#include "common/core/bfloat16.hpp"
#include "common/cuda/storage.hpp"

namespace shared_mem {

using ladder::bfloat16;

// Elements in the widest access of a thread, 16 bytes of float.
constexpr int kVec = 4;

// kCount neighbours at once, 1, 2 or a multiple of 4.
template <int kCount>
__device__ void copy(float* to, const float* from) {
  if constexpr (kCount % 4 == 0) {
    for (int i = 0; i < kCount; i += 4)
      *reinterpret_cast<float4*>(to + i) = *reinterpret_cast<const float4*>(from + i);
  } else if constexpr (kCount == 2) {
    *reinterpret_cast<float2*>(to) = *reinterpret_cast<const float2*>(from);
  } else {
    *to = *from;
  }
}

// bfloat16 travels in words of as many elements.
template <int kCount>
struct alignas(kCount * sizeof(bfloat16)) Bf16Word {
  bfloat16 x[kCount];
};

template <int kCount>
__device__ void copy(float* to, const bfloat16* from) {
  const auto word = *reinterpret_cast<const Bf16Word<kCount>*>(from);
#pragma unroll
  for (int i = 0; i < kCount; ++i)
    to[i] = ladder::cuda::load(word.x + i);
}

template <int kCount>
__device__ void copy(bfloat16* to, const float* from) {
  Bf16Word<kCount> word;
#pragma unroll
  for (int i = 0; i < kCount; ++i)
    ladder::cuda::store(word.x + i, from[i]);
  *reinterpret_cast<Bf16Word<kCount>*>(to) = word;
}

// A thread's columns of one row of an array in global memory; `count` of them exist.
template <int kCount, bool kAligned, typename Element>
__device__ void store(Element* to, const float* from_reg, int count) {
  if constexpr (kAligned) {
    if (count > 0) copy<kCount>(to, from_reg);
  } else {
    for (int i = 0; i < kCount; ++i)
      if (i < count) ladder::cuda::store(to + i, from_reg[i]);
  }
}

template <int kCount, bool kAligned, typename Element>
__device__ void load(float* to_reg, const Element* from, int count) {
  if constexpr (kAligned) {
    if (count > 0) copy<kCount>(to_reg, from);
  } else {
    for (int i = 0; i < kCount; ++i)
      if (i < count) to_reg[i] = ladder::cuda::load(from + i);
  }
}

}  // namespace shared_mem
