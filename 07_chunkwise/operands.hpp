// What tensor cores multiply, as this chapter's kernels see it: a `Strip` is an 8 x 16 piece of a matrix among the lanes of a
// warp, and multiply() takes three of them. Elements are bf16, or float at three times the cost.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "common/core/bfloat16.hpp"
#include "common/cuda/tensor_core.hpp"

namespace chapter07 {

// With row = lane / 4 and pair = lane % 4 a lane holds the columns 2 pair, 2 pair + 1, 2 pair + 8 and 2 pair + 9 of its row.
template <typename Element>
struct Strip;

template <>
struct Strip<ladder::bfloat16> {
  std::uint32_t x[2];  // two columns each
};

template <>
struct Strip<float> {
  float x[4];
};

// Two neighbours in shared memory, to and from the lane that computes with them.
inline __device__ float2 load_pair(const ladder::bfloat16* from) {
  const std::uint32_t both = *reinterpret_cast<const std::uint32_t*>(from);
  return {__uint_as_float(both << 16), __uint_as_float(both & 0xffff0000u)};
}
inline __device__ float2 load_pair(const float* from) {
  return *reinterpret_cast<const float2*>(from);
}
inline __device__ void store_pair(ladder::bfloat16* to, float first, float second) {
  *reinterpret_cast<std::uint32_t*>(to) = ladder::cuda::pack_bf16(first, second);
}
inline __device__ void store_pair(float* to, float first, float second) {
  *reinterpret_cast<float2*>(to) = {first, second};
}

// ---- Strips from shared memory; `from` is the first element, kStride elements lie between two rows ----

// Rows 0 to 7 and rows 8 to 15 of 16 columns.
template <int kStride>
__device__ void load_below(Strip<ladder::bfloat16>& upper, Strip<ladder::bfloat16>& lower,
                           const ladder::bfloat16* from, int lane) {
  std::uint32_t r[4];
  ladder::cuda::load_matrices(r, from + (lane / 16 * 8 + lane % 8) * kStride + lane / 8 % 2 * 8);
  upper = {{r[0], r[1]}};
  lower = {{r[2], r[3]}};
}

// Columns 0 to 15 and columns 16 to 31 of 8 rows.
template <int kStride>
__device__ void load_beside(Strip<ladder::bfloat16>& left, Strip<ladder::bfloat16>& right,
                            const ladder::bfloat16* from, int lane) {
  std::uint32_t r[4];
  ladder::cuda::load_matrices(r, from + lane % 8 * kStride + lane / 8 * 8);
  left = {{r[0], r[1]}};
  right = {{r[2], r[3]}};
}

// The transpose of 16 rows and 16 columns: its rows 0 to 7 are the columns 0 to 7 here.
template <int kStride>
__device__ void load_transposed(Strip<ladder::bfloat16>& upper, Strip<ladder::bfloat16>& lower,
                                const ladder::bfloat16* from, int lane) {
  std::uint32_t r[4];
  ladder::cuda::load_matrices_transposed(r, from + lane % 16 * kStride + lane / 16 * 8);
  upper = {{r[0], r[1]}};
  lower = {{r[2], r[3]}};
}

// Columns 0 to 7 and 8 to 15 of two products, packed side by side: the D of one product is the A of the next.
inline __device__ void pack(Strip<ladder::bfloat16>& upper, Strip<ladder::bfloat16>& lower,
                            const float (&left)[4], const float (&right)[4]) {
  upper = {{ladder::cuda::pack_bf16(left[0], left[1]), ladder::cuda::pack_bf16(right[0], right[1])}};
  lower = {{ladder::cuda::pack_bf16(left[2], left[3]), ladder::cuda::pack_bf16(right[2], right[3])}};
}

// d (16 x 8) += (upper over lower) (16 x 16) times the transpose of `right` (8 x 16).
inline __device__ void multiply(float (&d)[4], const Strip<ladder::bfloat16>& upper,
                                const Strip<ladder::bfloat16>& lower,
                                const Strip<ladder::bfloat16>& right) {
  ladder::cuda::mma_bf16(d, {upper.x[0], lower.x[0], upper.x[1], lower.x[1]},
                         {right.x[0], right.x[1]});
}

}  // namespace chapter07
