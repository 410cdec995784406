// Operands of tensor cores in this chapter's general forward kernel. They are the fragments of
// common/cuda/tiles, from matrices in shared memory. Elements are bf16 or fp16, or float at three
// times the cost.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <type_traits>

#include "common/core/bfloat16.hpp"
#include "common/core/float16.hpp"
#include "common/cuda/storage.hpp"
#include "common/cuda/tensor_core.hpp"
#include "common/cuda/tiles/fragment.hpp"
#include "common/cuda/tiles/product.hpp"

namespace chunkwise {

namespace tiles = ladder::cuda::tiles;
using tiles::FragmentA;
using tiles::FragmentB;

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
template <typename Element>
__device__ float low_element(float2 both) {
  return both.x;
}
template <typename Element>
__device__ float high_element(float2 both) {
  return both.y;
}

// Two neighbours in shared memory, loaded and stored by the lane that computes with them.
template <typename Element>
__device__ float2 load_pair(const Element* from) {
  const auto both = *reinterpret_cast<const typename FragmentA<Element>::Register*>(from);
  return {low_element<Element>(both), high_element<Element>(both)};
}
template <typename Element>
__device__ void store_pair(Element* to, float2 x) {
  using Register = typename FragmentA<Element>::Register;
  *reinterpret_cast<Register*>(to) = tiles::as_register<Element>(x.x, x.y);
}

// ---- Matrices in shared memory ----

// Rows are kStride elements apart, a multiple of 128 bytes, so every row begins in the first bank.
// Therefore columns are swizzled in 16-byte vectors, by an exclusive or with the row: the same
// columns of eight rows cover all 32 banks.
template <typename Element, int kStride>
struct Matrix {
  static constexpr int kPiece = 16 / sizeof(Element);
  static_assert(kStride % (8 * kPiece) == 0);
  Element* x;

  __device__ Element* at(int row, int column) const {
    return x + row * kStride + (column ^ static_cast<int>(static_cast<unsigned>(row) % 8) * kPiece);
  }
};

// 16 tokens in two halves of eight, with neighbours in different halves, such that the rows of a
// half are in different banks. The halves are 0, 2, 4, 6, 9, 11, 13, 15 and 1, 3, 5, 7, 8, 10, 12,
// 14.
inline __device__ int alternate(int half, int i) {
  return 2 * i + (i / 4 + half) % 2;
}

// ---- Operands from a matrix: by ldmatrix, or pair by pair. Names as in tiles/load.hpp ----

template <typename Element>
__device__ void put_registers(FragmentB<Element> (&b)[2],
                              const typename FragmentB<Element>::Register (&x)[4]) {
  b[0] = {{x[0], x[1]}}, b[1] = {{x[2], x[3]}};
}

// A from rows k and columns m, 16 x 16 from (row, column) on.
template <typename Element, int kStride>
__device__ FragmentA<Element> load_a_km(const Matrix<Element, kStride>& m, int row, int column,
                                        int lane) {
  FragmentA<Element> a;
  if constexpr (sizeof(Element) == 2) {
    ladder::cuda::load_matrices_transposed(
        a.x, m.at(row + lane / 16 * 8 + lane % 8, column + lane / 8 % 2 * 8));
  } else {
    for (int i = 0; i < 4; ++i) {
      const int first = row + i / 2 * 8 + lane % 4 * 2, from = column + i % 2 * 8 + lane / 4;
      a.x[i] = {*m.at(first, from), *m.at(first + 1, from)};
    }
  }
  return a;
}

// Two B from rows n and columns k, eight rows and the eight rows below, of 16 columns.
template <typename Element, int kStride>
__device__ void load_b_nk(FragmentB<Element> (&right)[2], const Matrix<Element, kStride>& m,
                          int row, int column, int lane) {
  typename FragmentB<Element>::Register r[4];
  if constexpr (sizeof(Element) == 2) {
    ladder::cuda::load_matrices(r, m.at(row + lane / 16 * 8 + lane % 8, column + lane / 8 % 2 * 8));
  } else {
    for (int i = 0; i < 4; ++i)
      r[i] = load_pair(m.at(row + i / 2 * 8 + lane / 4, column + i % 2 * 8 + lane % 4 * 2));
  }
  put_registers(right, r);
}

// Two B from rows k and columns n, columns 0 to 7 and columns 8 to 15 of 16 rows.
template <typename Element, int kStride>
__device__ void load_b_kn(FragmentB<Element> (&right)[2], const Matrix<Element, kStride>& m,
                          int row, int column, int lane) {
  typename FragmentB<Element>::Register r[4];
  if constexpr (sizeof(Element) == 2) {
    ladder::cuda::load_matrices_transposed(r, m.at(row + lane % 16, column + lane / 16 * 8));
  } else {
    for (int i = 0; i < 4; ++i) {
      const int first = row + i % 2 * 8 + lane % 4 * 2, from = column + i / 2 * 8 + lane / 4;
      r[i] = {*m.at(first, from), *m.at(first + 1, from)};
    }
  }
  put_registers(right, r);
}

// Eight rows of 32 columns, folded so that columns 0 to 7 and 16 to 23 are above columns 8 to 15
// and 24 to 31. Then multiply(sum[0], left, right[0]) has half of the products in its upper rows,
// and multiply(sum[1], left, right[1]) the others in its lower ones.
template <typename Element, int kStride>
__device__ void load_folded(FragmentA<Element>& left, FragmentB<Element> (&right)[2],
                            const Matrix<Element, kStride>& m, int left_row, int right_row,
                            int column, int lane) {
  typename FragmentB<Element>::Register r[4];
  if constexpr (sizeof(Element) == 2) {
    const int i = lane / 8;
    ladder::cuda::load_matrices(left.x, m.at(left_row + lane % 8, column + i * 8));
    ladder::cuda::load_matrices(r, m.at(right_row + lane % 8, column + i % 2 * 16 + i / 2 * 8));
  } else {
    const int row = lane / 4;
    column += lane % 4 * 2;
    for (int i = 0; i < 4; ++i) {
      left.x[i] = load_pair(m.at(left_row + row, column + i * 8));
      r[i] = load_pair(m.at(right_row + row, column + i % 2 * 16 + i / 2 * 8));
    }
  }
  put_registers(right, r);
}

// Rows of one half from a matrix, above rows of the other half from another.
template <typename Element, int kUpperStride, int kLowerStride>
__device__ void load_left_alternate(FragmentA<Element>& left,
                                    const Matrix<Element, kUpperStride>& upper, int upper_half,
                                    const Matrix<Element, kLowerStride>& lower, int column,
                                    int lane) {
  if constexpr (sizeof(Element) == 2) {
    column += lane / 16 * 8;
    ladder::cuda::load_matrices(
        left.x, lane / 8 % 2 == 0 ? upper.at(alternate(upper_half, lane % 8), column)
                                  : lower.at(alternate(1 - upper_half, lane % 8), column));
  } else {
    const int row = lane / 4;
    for (int i = 0; i < 4; i += 2) {
      const int from = column + i / 2 * 8 + lane % 4 * 2;
      left.x[i] = load_pair(upper.at(alternate(upper_half, row), from));
      left.x[i + 1] = load_pair(lower.at(alternate(1 - upper_half, row), from));
    }
  }
}

template <typename Element, int kStride>
__device__ void load_right_alternate(FragmentB<Element> (&right)[2],
                                     const Matrix<Element, kStride>& m, int column, int lane) {
  typename FragmentB<Element>::Register r[4];
  if constexpr (sizeof(Element) == 2) {
    ladder::cuda::load_matrices(r, m.at(alternate(lane / 16, lane % 8), column + lane / 8 % 2 * 8));
  } else {
    for (int i = 0; i < 4; ++i)
      r[i] = load_pair(m.at(alternate(i / 2, lane / 4), column + i % 2 * 8 + lane % 4 * 2));
  }
  put_registers(right, r);
}

// ---- Accumulators ----

// Adds to each column of a sum (columns 8 * half + 0 to 7 of `left`) a factor times the same column
// of `left`.
template <typename Element>
__device__ void add_columns(float (&sum)[4], const FragmentA<Element>& left, int half,
                            float2 factor) {
  for (int i = 0; i < 2; ++i) {
    const auto both = left.x[2 * half + i];
    sum[2 * i] += factor.x * low_element<Element>(both);
    sum[2 * i + 1] += factor.y * high_element<Element>(both);
  }
}

// Products of 16-bit elements use tiles/product.hpp. This product of floats adds its 16 terms in
// two groups of 8. Each factor is the sum of two tf32, split by integers, as in 11_three_products,
// and the smallest of their four products is skipped. The order of the 16 products in a sum is
// free, so the instruction's columns `pair` and `pair + 4` are our neighbours 2 pair and 2 pair +
// 1. Tensor cores truncate their sums, so the long sum is left to an addition that rounds.
inline __device__ void multiply(float (&sum)[4], const FragmentA<float>& left,
                                const FragmentB<float>& right) {
  using ladder::cuda::mma_tf32;
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
