// The backward pass's products of 16 x 16 blocks on tensor cores, with factors of bf16 or of float,
// their tiles in shared memory, and other operations on blocks in registers.
//
// A block M is distributed over the lanes of a warp in one way, as a factor and as a sum. With row
// = lane / 4 and pair = lane % 4, a lane holds M[row + 8 i][2 pair + 8 j + e] for i, j, e in {0,
// 1}. Therefore the sum of one product is a factor of the next in the same registers.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "common/core/bfloat16.hpp"
#include "common/cuda/storage.hpp"
#include "common/cuda/tensor_core.hpp"
#include "common/cuda/tiles/fragment.hpp"
#include "common/cuda/warp.hpp"

namespace chunkwise::backward {

using ladder::bfloat16;
using ladder::cuda::kAllLanes;
using ladder::cuda::kWarpSize;
using ladder::cuda::tiles::quad_sum;

constexpr int kBlock = 16;
constexpr int kSide = 64;  // steps of a chunk, and the sides of the tiles of K and V

// fp32, d[j][2 i + e].
struct Sum {
  float d[2][4];
};

template <typename Element>
struct Factor;

template <>
struct Factor<bfloat16> {
  std::uint32_t pair[4];  // [i + 2 j], the elements e = 0 and 1
};

// A float is the sum of two tf32, up to its last bit, because its 24 bits are 11, 11 more, and a
// sign.
template <>
struct Factor<float> {
  std::uint32_t big[4][2], small[4][2];  // [i + 2 j][e]
};

inline __device__ void split(Factor<float>& factor, int ij, int e, float x) {
  factor.big[ij][e] = ladder::cuda::to_tf32(x);
  factor.small[ij][e] = ladder::cuda::to_tf32(x - __uint_as_float(factor.big[ij][e]));
}

template <typename Element>
__device__ Factor<Element> as_factor(const Sum& sum) {
  Factor<Element> factor;
#pragma unroll
  for (int i = 0; i < 2; ++i) {
#pragma unroll
    for (int j = 0; j < 2; ++j) {
      if constexpr (sizeof(Element) == 2) {
        factor.pair[i + 2 * j] = ladder::cuda::pack_bf16(sum.d[j][2 * i], sum.d[j][2 * i + 1]);
      } else {
#pragma unroll
        for (int e = 0; e < 2; ++e)
          split(factor, i + 2 * j, e, sum.d[j][2 * i + e]);
      }
    }
  }
  return factor;
}

// sum[m][n] += a[m][0] b[n][0] + ... + a[m][15] b[n][15], so the second factor is given transposed.
inline __device__ void multiply_add(Sum& sum, const Factor<bfloat16>& a,
                                    const Factor<bfloat16>& b) {
#pragma unroll
  for (int j = 0; j < 2; ++j)
    ladder::cuda::mma_bf16(sum.d[j], a.pair, {b.pair[j], b.pair[j + 2]});
}

// Three products of tf32 replace one of float, because small times small is below the last bit. A
// tensor core truncates its sums towards zero, so it adds only these 16 terms, and the running sum
// is rounded to nearest. An instruction multiplies 8 columns. Its columns `pair` and `pair + 4` may
// be any two as long as both factors agree. Here they are 2 pair and 2 pair + 1, which a lane
// holds.
inline __device__ void multiply_add(Sum& sum, const Factor<float>& a, const Factor<float>& b) {
  const auto add = [](float(&d)[4], const std::uint32_t(&x)[4][2], const std::uint32_t(&y)[4][2],
                      int j, int k) {
    ladder::cuda::mma_tf32(d, {x[2 * k][0], x[2 * k + 1][0], x[2 * k][1], x[2 * k + 1][1]},
                           {y[j + 2 * k][0], y[j + 2 * k][1]});
  };
#pragma unroll
  for (int j = 0; j < 2; ++j) {
    float d[4] = {};
    add(d, a.small, b.big, j, 0), add(d, a.small, b.big, j, 1);
    add(d, a.big, b.small, j, 0), add(d, a.big, b.small, j, 1);
    add(d, a.big, b.big, j, 0), add(d, a.big, b.big, j, 1);
#pragma unroll
    for (int i = 0; i < 4; ++i)
      sum.d[j][i] += d[i];
  }
}

// A tile of shared memory with rows of kWidth elements, 64 or more. The 16-byte vectors of
// neighbouring rows are swizzled differently, so that neither rows nor columns of a block conflict
// in a bank.
template <typename Element, int kWidth>
struct Tile {
  static constexpr int kUnit = 16 / sizeof(Element);
  static_assert(kWidth % 64 == 0);
  Element* smem;

  // Unsigned, because a signed remainder costs five instructions, and every block has an address.
  __device__ Element* at(unsigned row, unsigned column) const {
    const unsigned twist = sizeof(Element) == 2 ? row % 8 : 2 * (row % 4 ^ row / 4 % 2);
    return smem + (row * kWidth + (column ^ twist * kUnit));
  }
};

// M[m][n] = tile[row + m][column + n]
template <int kWidth>
__device__ Factor<bfloat16> load(Tile<bfloat16, kWidth> tile, int row, int column, int lane) {
  Factor<bfloat16> factor;
  ladder::cuda::load_matrices(factor.pair, tile.at(row + lane % 16, column + lane / 16 * 8));
  return factor;
}

template <int kWidth>
__device__ Factor<float> load(Tile<float, kWidth> tile, int row, int column, int lane) {
  Factor<float> factor;
#pragma unroll
  for (int ij = 0; ij < 4; ++ij) {
    const float2 x = *reinterpret_cast<const float2*>(
        tile.at(row + lane / 4 + ij % 2 * 8, column + lane % 4 * 2 + ij / 2 * 8));
    split(factor, ij, 0, x.x), split(factor, ij, 1, x.y);
  }
  return factor;
}

// M[m][n] = tile[row + n][column + m]
template <int kWidth>
__device__ Factor<bfloat16> load_transposed(Tile<bfloat16, kWidth> tile, int row, int column,
                                            int lane) {
  Factor<bfloat16> factor;
  ladder::cuda::load_matrices_transposed(
      factor.pair, tile.at(row + lane / 16 * 8 + lane % 8, column + lane / 8 % 2 * 8));
  return factor;
}

template <int kWidth>
__device__ Factor<float> load_transposed(Tile<float, kWidth> tile, int row, int column, int lane) {
  Factor<float> factor;
#pragma unroll
  for (int ij = 0; ij < 4; ++ij) {
#pragma unroll
    for (int e = 0; e < 2; ++e)
      split(factor, ij, e,
            *tile.at(row + lane % 4 * 2 + ij / 2 * 8 + e, column + lane / 4 + ij % 2 * 8));
  }
  return factor;
}

template <typename Element>
using SquareTile = Tile<Element, kSide>;

template <typename Element>
__device__ SquareTile<Element> square(Element* smem) {
  return {smem};
}

// ---- In registers ----

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

// M[m][n] = tile[row + n][column + m], not split into factors of floats, because -inf cannot be
// split.
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

// The second factor of a product, transposed for multiply_add(). An instruction reads two
// consecutive registers, and a load fills four. They are in the order of the instructions, which is
// not that of a Factor.
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

inline __device__ Sum times(const Sum& a, const Sum& b) {
  Sum product;
  for_each([&](int j, int x) { product.d[j][x] = a.d[j][x] * b.d[j][x]; });
  return product;
}

// The rounding error of a sum in bf16.
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
  for (int i = 0; i < 2; ++i)
    totals[i] =
        quad_sum(sum.d[0][2 * i] + sum.d[0][2 * i + 1] + sum.d[1][2 * i] + sum.d[1][2 * i + 1]);
}

// ---- Stores ----

// Transposes among four neighbouring lanes. Lane p has x[u] = word p of vector u, and receives x[u]
// = word u of vector p.
inline __device__ void transpose_in_fours(std::uint32_t (&x)[4], int lane) {
#pragma unroll
  for (int bit = 1; bit < 4; bit *= 2) {
    const bool upper = (lane & bit) != 0;
#pragma unroll
    for (int u = 0; u < 4; ++u) {
      if ((u & bit) != 0) continue;
      const std::uint32_t give = upper ? x[u] : x[u | bit];
      const std::uint32_t got = __shfl_xor_sync(kAllLanes, give, bit);
      if (upper) {
        x[u] = got;
      } else {
        x[u | bit] = got;
      }
    }
  }
}

// Stores the first `rows` rows and `columns` columns of a block, 16 bytes per lane (bf16) or 8
// (float) if `wide`.
inline __device__ void store(const Sum& sum, bfloat16* to, std::int64_t stride, int rows,
                             int columns, bool wide, int lane) {
  std::uint32_t x[4];
#pragma unroll
  for (int ij = 0; ij < 4; ++ij)
    x[ij] = ladder::cuda::pack_bf16(sum.d[ij / 2][ij % 2 * 2], sum.d[ij / 2][ij % 2 * 2 + 1]);
  transpose_in_fours(x, lane);
  const int row = lane / 4 + lane % 2 * 8, column = lane / 2 % 2 * 8;
  if (row >= rows || column >= columns) return;
  bfloat16* const place = to + row * stride + column;
  if (wide) {
    *reinterpret_cast<uint4*>(place) = make_uint4(x[0], x[1], x[2], x[3]);
    return;
  }
#pragma unroll
  for (int i = 0; i < 8; ++i)
    if (column + i < columns) place[i].bits = static_cast<std::uint16_t>(x[i / 2] >> i % 2 * 16);
}

inline __device__ void store(const Sum& sum, float* to, std::int64_t stride, int rows, int columns,
                             bool wide, int lane) {
#pragma unroll
  for (int ij = 0; ij < 4; ++ij) {
    const int row = lane / 4 + ij % 2 * 8, column = lane % 4 * 2 + ij / 2 * 8;
    const float first = sum.d[ij / 2][ij % 2 * 2], second = sum.d[ij / 2][ij % 2 * 2 + 1];
    if (row >= rows || column >= columns) continue;
    float* const place = to + row * stride + column;
    if (wide) {
      *reinterpret_cast<float2*>(place) = make_float2(first, second);
    } else {
      place[0] = first;
      if (column + 1 < columns) place[1] = second;
    }
  }
}

}  // namespace chunkwise::backward
