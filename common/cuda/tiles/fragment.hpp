// Fragments are the operands of a warp's matrix instruction, C += A B, in its lanes' registers.
//
//   Element      A (m x k)   B (k x n)   C (m x n), fp32   instruction
//   bf16, fp16   16 x 16     16 x 8      16 x 8            mma.sync.m16n8k16
//   Tf32         16 x 8      8 x 8       16 x 8            mma.sync.m16n8k8
//   float        16 x 16     16 x 8      16 x 8            six of m16n8k8: see product.hpp
//
// place(lane, i) is the row and column of the first element in a lane's register i. A register of
// bf16 or fp16 holds two elements, and one of float is a pair of floats. The second is the first's
// neighbour along k (in A the next column, in B the next row). Four neighbouring lanes, a quad,
// share a row of A and of C and a column of B. Source: PTX ISA, "Matrix Fragments for mma.m16n8k16
// with floating point type" and "Matrix Fragments for mma.m16n8k8".
#pragma once

#include <cuda_runtime.h>

#include <cmath>
#include <cstdint>
#include <type_traits>

#include "common/cuda/storage.hpp"
#include "common/cuda/tensor_core.hpp"
#include "common/cuda/warp.hpp"

namespace ladder::cuda::tiles {

struct Place {
  int row, column;
};

// A float with 8 bits of exponent and 10 after the point (to_tf32() in tensor_core.hpp).
struct Tf32 {};

// ---- C: accumulators, always fp32 ----

using Accumulator = float[4];

inline __host__ __device__ constexpr Place accumulator_place(int lane, int i) {
  return {lane / 4 + i / 2 * 8, lane % 4 * 2 + i % 2};
}

// ---- A and B ----

// Neighbours along k in a lane's register, of a row of A, or of a column of B.
template <typename Element>
constexpr int kNeighbours = std::is_same_v<Element, Tf32> ? 1 : 2;

template <typename Element>
struct FragmentA {
  using Register = std::conditional_t<std::is_same_v<Element, float>, float2, std::uint32_t>;
  static constexpr int kRows = 16, kColumns = 8 * kNeighbours<Element>;
  Register x[4];

  static __host__ __device__ constexpr Place place(int lane, int i) {
    return {lane / 4 + i % 2 * 8, (lane % 4 + i / 2 * 4) * kNeighbours<Element>};
  }
};

template <typename Element>
struct FragmentB {
  using Register = typename FragmentA<Element>::Register;
  static constexpr int kRows = 8 * kNeighbours<Element>, kColumns = 8;
  Register x[2];

  static __host__ __device__ constexpr Place place(int lane, int i) {
    return {(lane % 4 + i * 4) * kNeighbours<Element>, lane / 4};
  }
};

// ---- Conversions ----

// Packs two floats into a register. 16-bit elements are rounded to nearest, ties to even.
template <typename Element>
__device__ typename FragmentA<Element>::Register as_register(float first, float second) {
  if constexpr (std::is_same_v<Element, float>) {
    return {first, second};
  } else {
    return pack<Element>(first, second);
  }
}

// Two neighbouring accumulators (16 x 16) as the A of the next product, lane by lane.
template <typename Element>
__device__ FragmentA<Element> as_a(const Accumulator& left, const Accumulator& right) {
  return {{as_register<Element>(left[0], left[1]), as_register<Element>(left[2], left[3]),
           as_register<Element>(right[0], right[1]), as_register<Element>(right[2], right[3])}};
}

// A's transpose as two neighbouring B. The registers do not change, because the lanes hold B's
// columns as they hold A's rows.
template <typename Element>
__device__ void as_b(FragmentB<Element> (&b)[2], const FragmentA<Element>& a) {
  b[0] = {{a.x[0], a.x[2]}};
  b[1] = {{a.x[1], a.x[3]}};
}

// ---- Rows of C ----

// The maximum of a quad, and its sum, in all four lanes.
inline __device__ float quad_max(float x) {
  x = fmaxf(x, __shfl_xor_sync(kAllLanes, x, 1));
  return fmaxf(x, __shfl_xor_sync(kAllLanes, x, 2));
}
inline __device__ float quad_sum(float x) {
  x += __shfl_xor_sync(kAllLanes, x, 1);
  return x + __shfl_xor_sync(kAllLanes, x, 2);
}

}  // namespace ladder::cuda::tiles
