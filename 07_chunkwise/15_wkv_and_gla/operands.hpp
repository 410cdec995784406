// What tensor cores multiply, as this chapter's kernels see it: `Left` is a 16 x 16 matrix among the lanes of a warp, `Right` the
// transpose of an 8 x 16 one, and multiply() adds their product to a 16 x 8 sum. Elements are bf16 or fp16, or float at three times
// the cost.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <type_traits>

#include "common/core/bfloat16.hpp"
#include "common/core/float16.hpp"
#include "common/cuda/storage.hpp"
#include "common/cuda/tensor_core.hpp"
#include "common/cuda/tiles/product.hpp"

namespace chunkwise {

// With row = lane / 4 and pair = lane % 4, a lane holds of its row the columns 2 pair, 2 pair + 1, 2 pair + 8 and 2 pair + 9.
// Left: first the former two of row and of row + 8, then the latter two.
template <typename Element>
struct Left {
  static_assert(sizeof(Element) == 2);
  std::uint32_t x[4];  // two neighbours each
};
template <typename Element>
struct Right {
  static_assert(sizeof(Element) == 2);
  std::uint32_t x[2];
};

template <>
struct Left<float> {
  float2 x[4];
};
template <>
struct Right<float> {
  float2 x[2];
};

// The two elements of a register.
template <typename Element>
__device__ float low_element(std::uint32_t both) {
  if constexpr (std::is_same_v<Element, ladder::bfloat16>) {
    return __uint_as_float(both << 16);
  } else {
    const Element element = {static_cast<std::uint16_t>(both)};
    return ladder::cuda::load(&element);
  }
}
template <typename Element>
__device__ float high_element(std::uint32_t both) {
  if constexpr (std::is_same_v<Element, ladder::bfloat16>) {
    return __uint_as_float(both & 0xffff0000u);
  } else {
    return low_element<Element>(both >> 16);
  }
}

// Two neighbours in shared memory, to and from the lane that computes with them.
template <typename Element>
__device__ float2 load_pair(const Element* from) {
  const std::uint32_t both = *reinterpret_cast<const std::uint32_t*>(from);
  return {low_element<Element>(both), high_element<Element>(both)};
}
inline __device__ float2 load_pair(const float* from) {
  return *reinterpret_cast<const float2*>(from);
}
template <typename Element>
__device__ void store_pair(Element* to, float2 x) {
  *reinterpret_cast<std::uint32_t*>(to) = ladder::cuda::pack<Element>(x.x, x.y);
}
inline __device__ void store_pair(float* to, float2 x) {
  *reinterpret_cast<float2*>(to) = x;
}

// ---- Matrices in shared memory ----

// kStride elements lie between two rows, a multiple of 128 bytes, so every row begins in the first bank. Columns are therefore
// exchanged, 16 bytes at a time, by an exclusive or with the row: the same columns of eight rows lie in all 32 banks.
template <typename Element, int kStride>
struct Matrix {
  static constexpr int kPiece = 16 / sizeof(Element);
  static_assert(kStride % (8 * kPiece) == 0);
  Element* x;

  __device__ Element* at(int row, int column) const {
    return x + row * kStride + (column ^ static_cast<int>(static_cast<unsigned>(row) % 8) * kPiece);
  }
};

// 16 tokens in two halves of eight, neighbours in different ones, such that the rows of a half lie in different banks:
// 0, 2, 4, 6, 9, 11, 13, 15 and 1, 3, 5, 7, 8, 10, 12, 14.
inline __device__ int alternate(int half, int i) {
  return 2 * i + (i / 4 + half) % 2;
}

// ---- Operands from a matrix: bf16 and fp16 ----

// The 16 x 16 elements from (row, column) on.
template <typename Element, int kStride>
__device__ void load_left(Left<Element>& left, const Matrix<Element, kStride>& m, int row,
                          int column, int lane) {
  ladder::cuda::load_matrices(left.x, m.at(row + lane % 16, column + lane / 16 * 8));
}

// The same, transposed.
template <typename Element, int kStride>
__device__ void load_left_transposed(Left<Element>& left, const Matrix<Element, kStride>& m,
                                     int row, int column, int lane) {
  ladder::cuda::load_matrices_transposed(
      left.x, m.at(row + lane / 16 * 8 + lane % 8, column + lane / 8 % 2 * 8));
}

template <typename Element>
__device__ void split(Right<Element> (&right)[2], const std::uint32_t (&r)[4]) {
  right[0] = {{r[0], r[1]}};
  right[1] = {{r[2], r[3]}};
}

// Eight rows and the eight rows below, of 16 columns.
template <typename Element, int kStride>
__device__ void load_below(Right<Element> (&right)[2], const Matrix<Element, kStride>& m, int row,
                           int column, int lane) {
  std::uint32_t r[4];
  ladder::cuda::load_matrices(r, m.at(row + lane / 16 * 8 + lane % 8, column + lane / 8 % 2 * 8));
  split(right, r);
}

// Columns 0 to 7 and columns 8 to 15 of 16 rows, as rows.
template <typename Element, int kStride>
__device__ void load_transposed(Right<Element> (&right)[2], const Matrix<Element, kStride>& m,
                                int row, int column, int lane) {
  std::uint32_t r[4];
  ladder::cuda::load_matrices_transposed(r, m.at(row + lane % 16, column + lane / 16 * 8));
  split(right, r);
}

// Eight rows of 32 columns, folded: columns 0 to 7 and 16 to 23 above columns 8 to 15 and 24 to 31. Then multiply(sum[0], left,
// right[0]) has half of the products in its upper rows, multiply(sum[1], left, right[1]) the others in its lower ones.
template <typename Element, int kStride>
__device__ void load_folded(Left<Element>& left, Right<Element> (&right)[2],
                            const Matrix<Element, kStride>& m, int left_row, int right_row,
                            int column, int lane) {
  std::uint32_t r[4];
  const int i = lane / 8;
  ladder::cuda::load_matrices(left.x, m.at(left_row + lane % 8, column + i * 8));
  ladder::cuda::load_matrices(r, m.at(right_row + lane % 8, column + i % 2 * 16 + i / 2 * 8));
  split(right, r);
}

// Rows of one half from a matrix, above rows of the other half from another.
template <typename Element, int kUpperStride, int kLowerStride>
__device__ void load_left_alternate(Left<Element>& left, const Matrix<Element, kUpperStride>& upper,
                                    int upper_half, const Matrix<Element, kLowerStride>& lower,
                                    int column, int lane) {
  column += lane / 16 * 8;
  ladder::cuda::load_matrices(left.x, lane / 8 % 2 == 0
                                          ? upper.at(alternate(upper_half, lane % 8), column)
                                          : lower.at(alternate(1 - upper_half, lane % 8), column));
}

template <typename Element, int kStride>
__device__ void load_right_alternate(Right<Element> (&right)[2], const Matrix<Element, kStride>& m,
                                     int column, int lane) {
  std::uint32_t r[4];
  ladder::cuda::load_matrices(r, m.at(alternate(lane / 16, lane % 8), column + lane / 8 % 2 * 8));
  split(right, r);
}

// Two sums side by side: what comes out of one product goes into the next as it lies in the lanes.
template <typename Element>
__device__ void pack(Left<Element>& left, const float (&a)[4], const float (&b)[4]) {
  using ladder::cuda::pack;
  left = {{pack<Element>(a[0], a[1]), pack<Element>(a[2], a[3]), pack<Element>(b[0], b[1]),
           pack<Element>(b[2], b[3])}};
}

template <typename Element>
__device__ void multiply(float (&sum)[4], const Left<Element>& left, const Right<Element>& right) {
  ladder::cuda::mma<Element>(sum, left.x, right.x);
}

// Each column of a sum (columns 8 * half + 0 to 7 of `left`) plus a factor times the same column of `left`.
template <typename Element>
__device__ void add_columns(float (&sum)[4], const Left<Element>& left, int half, float2 factor) {
  for (int i = 0; i < 2; ++i) {
    const std::uint32_t both = left.x[2 * half + i];
    sum[2 * i] += factor.x * low_element<Element>(both);
    sum[2 * i + 1] += factor.y * high_element<Element>(both);
  }
}

// ---- The same: float ----

template <int kStride>
__device__ void load_left(Left<float>& left, const Matrix<float, kStride>& m, int row, int column,
                          int lane) {
  for (int i = 0; i < 4; ++i)
    left.x[i] = load_pair(m.at(row + i % 2 * 8 + lane / 4, column + i / 2 * 8 + lane % 4 * 2));
}

template <int kStride>
__device__ void load_left_transposed(Left<float>& left, const Matrix<float, kStride>& m, int row,
                                     int column, int lane) {
  for (int i = 0; i < 4; ++i) {
    const int first = row + i / 2 * 8 + lane % 4 * 2, from = column + i % 2 * 8 + lane / 4;
    left.x[i] = {*m.at(first, from), *m.at(first + 1, from)};
  }
}

template <int kStride>
__device__ void load_below(Right<float> (&right)[2], const Matrix<float, kStride>& m, int row,
                           int column, int lane) {
  for (int i = 0; i < 4; ++i)
    right[i / 2].x[i % 2] =
        load_pair(m.at(row + i / 2 * 8 + lane / 4, column + i % 2 * 8 + lane % 4 * 2));
}

template <int kStride>
__device__ void load_transposed(Right<float> (&right)[2], const Matrix<float, kStride>& m, int row,
                                int column, int lane) {
  for (int i = 0; i < 4; ++i) {
    const int first = row + i % 2 * 8 + lane % 4 * 2, from = column + i / 2 * 8 + lane / 4;
    right[i / 2].x[i % 2] = {*m.at(first, from), *m.at(first + 1, from)};
  }
}

template <int kStride>
__device__ void load_folded(Left<float>& left, Right<float> (&right)[2],
                            const Matrix<float, kStride>& m, int left_row, int right_row,
                            int column, int lane) {
  const int row = lane / 4;
  column += lane % 4 * 2;
  for (int i = 0; i < 4; ++i) {
    left.x[i] = load_pair(m.at(left_row + row, column + i * 8));
    right[i / 2].x[i % 2] = load_pair(m.at(right_row + row, column + i % 2 * 16 + i / 2 * 8));
  }
}

template <int kUpperStride, int kLowerStride>
__device__ void load_left_alternate(Left<float>& left, const Matrix<float, kUpperStride>& upper,
                                    int upper_half, const Matrix<float, kLowerStride>& lower,
                                    int column, int lane) {
  const int row = lane / 4;
  for (int i = 0; i < 4; i += 2) {
    const int from = column + i / 2 * 8 + lane % 4 * 2;
    left.x[i] = load_pair(upper.at(alternate(upper_half, row), from));
    left.x[i + 1] = load_pair(lower.at(alternate(1 - upper_half, row), from));
  }
}

template <int kStride>
__device__ void load_right_alternate(Right<float> (&right)[2], const Matrix<float, kStride>& m,
                                     int column, int lane) {
  for (int i = 0; i < 4; ++i)
    right[i / 2].x[i % 2] =
        load_pair(m.at(alternate(i / 2, lane / 4), column + i % 2 * 8 + lane % 4 * 2));
}

inline __device__ void pack(Left<float>& left, const float (&a)[4], const float (&b)[4]) {
  left = {{{a[0], a[1]}, {a[2], a[3]}, {b[0], b[1]}, {b[2], b[3]}}};
}

inline __device__ void add_columns(float (&sum)[4], const Left<float>& left, int half,
                                   float2 factor) {
  for (int i = 0; i < 2; ++i) {
    sum[2 * i] += factor.x * left.x[2 * half + i].x;
    sum[2 * i + 1] += factor.y * left.x[2 * half + i].y;
  }
}

// Each factor is the sum of two tf32, split by integers, as 11_three_products does; of their four products the smallest is left
// out. The order of the 16 products in a sum is free: what the instruction calls columns `pair` and `pair + 4` are our neighbours
// 2 pair and 2 pair + 1. Tensor cores cut off what they add; so the long sum is left to an addition that rounds.
inline __device__ void multiply(float (&sum)[4], const Left<float>& left,
                                const Right<float>& right) {
  using ladder::cuda::mma_tf32;
  namespace tiles = ladder::cuda::tiles;
  float part[4] = {};
#pragma unroll
  for (int i = 0; i < 2; ++i) {
    const float a[4] = {left.x[2 * i].x, left.x[2 * i + 1].x, left.x[2 * i].y, left.x[2 * i + 1].y};
    const float b[2] = {right.x[i].x, right.x[i].y};
    std::uint32_t a_big[4], a_small[4], b_big[2], b_small[2];
    for (int j = 0; j < 4; ++j) {
      const tiles::Parts parts = tiles::split<tiles::Split::kCheap>(a[j]);
      a_big[j] = parts.big, a_small[j] = parts.small;
    }
    for (int j = 0; j < 2; ++j) {
      const tiles::Parts parts = tiles::split<tiles::Split::kCheap>(b[j]);
      b_big[j] = parts.big, b_small[j] = parts.small;
    }
    mma_tf32(part, a_small, b_big);
    mma_tf32(part, a_big, b_small);
    mma_tf32(part, a_big, b_big);
  }
  for (int j = 0; j < 4; ++j)
    sum[j] += part[j];
}

}  // namespace chunkwise
