// Blocks of 16 x 16 in registers, [channel][step] as in decay_tree.hpp: from tiles, to tiles, element by element.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "07_chunkwise/20_backward/chunk_steps.hpp"
#include "07_chunkwise/20_backward/decay_tree.hpp"
#include "07_chunkwise/20_backward/gradient_blocks.hpp"
#include "common/cuda/storage.hpp"
#include "common/cuda/tensor_core.hpp"

namespace chunkwise::backward {

// M[m][n] = tile[row + n][column + m], as it is stored: a factor of floats would be split, which -inf cannot be.
inline __device__ Sum load_values_transposed(SquareTile<bfloat16> tile, int row, int column,
                                             int lane) {
  const Factor<bfloat16> factor = load_transposed(tile, row, column, lane);
  Sum values;
#pragma unroll
  for (int ij = 0; ij < 4; ++ij) {
    values.d[ij / 2][ij % 2 * 2] = __uint_as_float(factor.pair[ij] << 16);
    values.d[ij / 2][ij % 2 * 2 + 1] = __uint_as_float(factor.pair[ij] & 0xffff0000u);
  }
  return values;
}
inline __device__ Sum load_values_transposed(SquareTile<float> tile, int row, int column,
                                             int lane) {
  Sum values;
#pragma unroll
  for (int j = 0; j < 2; ++j) {
#pragma unroll
    for (int x = 0; x < 4; ++x)
      values.d[j][x] = *tile.at(row + lane % 4 * 2 + j * 8 + x % 2, column + lane / 4 + x / 2 * 8);
  }
  return values;
}

// The second factor of a product, transposed as multiply_add() wants it. An instruction takes two registers that lie side by side,
// and a load fills four that do: they come in the order of the instructions, which is not that of a Factor.
template <typename Element>
struct Right : Factor<Element> {};

template <>
struct Right<bfloat16> {
  std::uint32_t pair[4];  // [2 i + j]
};

// M[m][n] = tile[row + m][column + n]
inline __device__ Right<bfloat16> load_right(SquareTile<bfloat16> tile, int row, int column,
                                             int lane) {
  Right<bfloat16> right;
  ladder::cuda::load_matrices(right.pair,
                              tile.at(row + lane / 16 * 8 + lane % 8, column + lane / 8 % 2 * 8));
  return right;
}
inline __device__ Right<float> load_right(SquareTile<float> tile, int row, int column, int lane) {
  return {load(tile, row, column, lane)};
}

// M[m][n] = tile[row + n][column + m]
inline __device__ Right<bfloat16> load_right_transposed(SquareTile<bfloat16> tile, int row,
                                                        int column, int lane) {
  Right<bfloat16> right;
  ladder::cuda::load_matrices_transposed(right.pair,
                                         tile.at(row + lane % 16, column + lane / 16 * 8));
  return right;
}
inline __device__ Right<float> load_right_transposed(SquareTile<float> tile, int row, int column,
                                                     int lane) {
  return {load_transposed(tile, row, column, lane)};
}

template <typename Element>
__device__ Right<Element> as_right(const Sum& sum) {
  const Factor<Element> factor = as_factor<Element>(sum);
  if constexpr (sizeof(Element) == 2) {
    return {{factor.pair[0], factor.pair[2], factor.pair[1], factor.pair[3]}};
  } else {
    return {factor};
  }
}

inline __device__ void multiply_add(Sum& sum, const Factor<bfloat16>& a, const Right<bfloat16>& b) {
#pragma unroll
  for (int i = 0; i < 2; ++i)
    ladder::cuda::mma_bf16(sum.d[i], a.pair, {b.pair[2 * i], b.pair[2 * i + 1]});
}

// f(j, x) for all of a lane's elements [j][x].
template <typename F>
__device__ void for_each(F f) {
#pragma unroll
  for (int j = 0; j < 2; ++j) {
#pragma unroll
    for (int x = 0; x < 4; ++x)
      f(j, x);
  }
}

inline __device__ Sum times(const Sum& a, const Sum& b) {
  Sum product;
  for_each([&](int j, int x) { product.d[j][x] = a.d[j][x] * b.d[j][x]; });
  return product;
}

// What is lost when a sum is rounded to bf16.
inline __device__ Sum rounding_of(const Sum& sum) {
  Sum rest;
  for_each([&](int j, int x) {
    const std::uint32_t rounded = ladder::cuda::pack_bf16(0.0f, sum.d[j][x]);
    rest.d[j][x] = sum.d[j][x] - __uint_as_float(rounded);
  });
  return rest;
}

// Row m of the tile is row m of the block.
template <typename Element>
__device__ void put(SquareTile<Element> tile, int row, int column, const Sum& sum, int lane) {
#pragma unroll
  for (int ij = 0; ij < 4; ++ij) {
    Element* const to = tile.at(row + lane / 4 + ij % 2 * 8, column + lane % 4 * 2 + ij / 2 * 8);
    const float first = sum.d[ij / 2][ij % 2 * 2], second = sum.d[ij / 2][ij % 2 * 2 + 1];
    if constexpr (sizeof(Element) == 2) {
      *reinterpret_cast<std::uint32_t*>(to) = ladder::cuda::pack_bf16(first, second);
    } else {
      *reinterpret_cast<float2*>(to) = make_float2(first, second);
    }
  }
}

// Row m of the tile is column m of the block.
template <typename Element>
__device__ void put_transposed(SquareTile<Element> tile, int row, int column, const Sum& sum,
                               int lane) {
  for_each([&](int j, int x) {
    ladder::cuda::store(tile.at(row + lane % 4 * 2 + j * 8 + x % 2, column + lane / 4 + x / 2 * 8),
                        sum.d[j][x]);
  });
}

// The sums of a lane's two channels over all steps of the block.
inline __device__ void sum_over_steps(float (&totals)[2], const Sum& sum) {
#pragma unroll
  for (int i = 0; i < 2; ++i) {
    float total = sum.d[0][2 * i] + sum.d[0][2 * i + 1] + sum.d[1][2 * i] + sum.d[1][2 * i + 1];
    total += __shfl_xor_sync(kAllLanes, total, 1);
    totals[i] = total + __shfl_xor_sync(kAllLanes, total, 2);
  }
}

}  // namespace chunkwise::backward
