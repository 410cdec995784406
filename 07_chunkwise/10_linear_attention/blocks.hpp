// Products of 16 x 16 blocks on tensor cores, with factors of bf16 or of float, and the tiles of shared memory they come from.
//
// A block M lies among the lanes of a warp always in the same way, be it a factor or a sum: with row = lane / 4 and
// pair = lane % 4, a lane holds M[row + 8 i][2 pair + 8 j + e] for i, j, e in {0, 1}. So the sum of one product is a factor of
// the next without leaving its registers.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "common/core/bfloat16.hpp"
#include "common/cuda/tensor_core.hpp"

namespace chunkwise {

using ladder::bfloat16;

constexpr int kBlock = 16;

// fp32, d[j][2 i + e].
struct Sum {
  float d[2][4];
};

// A product's factors differ in the order of their registers, so that each instruction finds its own side by side.
enum class Side { kLeft, kRight };

template <typename Element, Side kSide>
struct Factor;

template <Side kSide>
struct Factor<bfloat16, kSide> {
  static constexpr __device__ int place(int i, int j) {
    return kSide == Side::kLeft ? i + 2 * j : 2 * i + j;
  }
  std::uint32_t pair[4];  // [place(i, j)], the elements e = 0 and 1
};

// A float is the sum of two tf32, almost up to its last bit: it has 24 bits, they have 11 each and a sign.
struct SplitBlock {
  std::uint32_t big[2][2][2], small[2][2][2];  // [i][j][e]

  // As to_tf32 rounds, which takes more instructions on sm_90 because it looks for NaN: here `small` is one then. What does not fit
  // into `small` is cut off.
  __device__ void split(int i, int j, int e, float x) {
    constexpr std::uint32_t kKept = 0xffffe000u, kHalf = 0x1000u;
    big[i][j][e] = (__float_as_uint(x) + kHalf) & kKept;
    small[i][j][e] = __float_as_uint(x - __uint_as_float(big[i][j][e])) & kKept;
  }
};

template <Side kSide>
struct Factor<float, kSide> : SplitBlock {};

template <typename Element, Side kSide>
__device__ Factor<Element, kSide> as_factor(const Sum& sum) {
  Factor<Element, kSide> factor;
#pragma unroll
  for (int i = 0; i < 2; ++i) {
#pragma unroll
    for (int j = 0; j < 2; ++j) {
      const float first = sum.d[j][2 * i], second = sum.d[j][2 * i + 1];
      if constexpr (sizeof(Element) == 2) {
        factor.pair[factor.place(i, j)] = ladder::cuda::pack_bf16(first, second);
      } else {
        factor.split(i, j, 0, first), factor.split(i, j, 1, second);
      }
    }
  }
  return factor;
}

// The same block on the other side.
inline __device__ Factor<bfloat16, Side::kRight> as_right(const Factor<bfloat16, Side::kLeft>& x) {
  return {{x.pair[0], x.pair[2], x.pair[1], x.pair[3]}};
}
inline __device__ Factor<float, Side::kRight> as_right(const Factor<float, Side::kLeft>& x) {
  return {static_cast<const SplitBlock&>(x)};
}

// sum[m][n] += left[m][0] right[n][0] + ... + left[m][15] right[n][15]: the right factor is given transposed.
inline __device__ void multiply_add(Sum& sum, const Factor<bfloat16, Side::kLeft>& left,
                                    const Factor<bfloat16, Side::kRight>& right) {
#pragma unroll
  for (int n = 0; n < 2; ++n)
    ladder::cuda::mma_bf16(sum.d[n], left.pair, {right.pair[2 * n], right.pair[2 * n + 1]});
}

// Three products of tf32 for one of float; small times small is below the last bit. A tensor core cuts off what it cannot keep
// when it adds, always towards zero, so it adds only these 16 terms; the running sum is rounded to the nearest.
// An instruction multiplies 8 columns. Which of them it takes for its columns `pair` and `pair + 4` is free as long as both factors
// agree: here 2 pair and 2 pair + 1, what a lane has.
inline __device__ void multiply_add(Sum& sum, const Factor<float, Side::kLeft>& left,
                                    const Factor<float, Side::kRight>& right) {
  using Parts = std::uint32_t[2][2][2];
  const auto add = [](float(&d)[4], const Parts& x, const Parts& y, int n, int j) {
    ladder::cuda::mma_tf32(d, {x[0][j][0], x[1][j][0], x[0][j][1], x[1][j][1]},
                           {y[n][j][0], y[n][j][1]});
  };
#pragma unroll
  for (int n = 0; n < 2; ++n) {
    float d[4] = {};
    add(d, left.small, right.big, n, 0), add(d, left.small, right.big, n, 1);
    add(d, left.big, right.small, n, 0), add(d, left.big, right.small, n, 1);
    add(d, left.big, right.big, n, 0), add(d, left.big, right.big, n, 1);
#pragma unroll
    for (int i = 0; i < 4; ++i)
      sum.d[n][i] += d[i];
  }
}

// A tile of shared memory, kRows rows of kWidth elements, 64 or more. Neither the rows nor the columns of a block meet in a bank:
// of bf16, because the 16-byte units of a row are permuted, differently in neighbouring rows; of float, because rows are 4 words
// longer than a multiple of 32 banks, and a block takes its rows in the order of token_of.
template <typename Element, int kRows, int kWidth>
struct Tile {
  static constexpr int kUnit = 16 / sizeof(Element);
  static constexpr int kStride = sizeof(Element) == 2 ? kWidth : kWidth + 4;
  static constexpr int kSize = kRows * kStride;
  static_assert(kWidth % 64 == 0);
  Element* smem;

  __device__ Element* at(unsigned row, unsigned column) const {
    if constexpr (sizeof(Element) == 2) {
      return smem + row * kStride + (column / kUnit ^ row % 8) * kUnit + column % kUnit;
    } else {
      return smem + row * kStride + column;
    }
  }
};

// Which of 16 tokens is a block's row (or column) n. Any order does as long as all blocks take the same. For float: 8 lanes that
// are next to each other, or every other, read tokens 2 apart, so 8 banks apart.
template <typename Element>
__device__ unsigned token_of(unsigned n) {
  return sizeof(Element) == 2 ? n : 2 * (n % 8 ^ n % 8 / 4) + n / 8;
}

// M[m][n] = tile[row + token_of(m)][column + n]
template <Side kSide, int kRows, int kWidth>
__device__ Factor<bfloat16, kSide> load(Tile<bfloat16, kRows, kWidth> tile, int row, int column,
                                        unsigned lane) {
  Factor<bfloat16, kSide> factor;
  const unsigned i = kSide == Side::kLeft ? lane / 8 % 2 : lane / 16;
  const unsigned j = kSide == Side::kLeft ? lane / 16 : lane / 8 % 2;
  ladder::cuda::load_matrices(factor.pair, tile.at(row + i * 8 + lane % 8, column + j * 8));
  return factor;
}

template <Side kSide, int kRows, int kWidth>
__device__ Factor<float, kSide> load(Tile<float, kRows, kWidth> tile, int row, int column,
                                     unsigned lane) {
  Factor<float, kSide> factor;
#pragma unroll
  for (int i = 0; i < 2; ++i) {
#pragma unroll
    for (int j = 0; j < 2; ++j) {
      const float2 x = *reinterpret_cast<const float2*>(
          tile.at(row + token_of<float>(lane / 4 + i * 8), column + lane % 4 * 2 + j * 8));
      factor.split(i, j, 0, x.x), factor.split(i, j, 1, x.y);
    }
  }
  return factor;
}

// M[m][n] = tile[row + token_of(n)][column + m]
template <Side kSide, int kRows, int kWidth>
__device__ Factor<bfloat16, kSide> load_transposed(Tile<bfloat16, kRows, kWidth> tile, int row,
                                                   int column, unsigned lane) {
  Factor<bfloat16, kSide> factor;
  const unsigned i = kSide == Side::kLeft ? lane / 8 % 2 : lane / 16;
  const unsigned j = kSide == Side::kLeft ? lane / 16 : lane / 8 % 2;
  ladder::cuda::load_matrices_transposed(factor.pair,
                                         tile.at(row + j * 8 + lane % 8, column + i * 8));
  return factor;
}

template <Side kSide, int kRows, int kWidth>
__device__ Factor<float, kSide> load_transposed(Tile<float, kRows, kWidth> tile, int row,
                                                int column, unsigned lane) {
  Factor<float, kSide> factor;
#pragma unroll
  for (int i = 0; i < 2; ++i) {
#pragma unroll
    for (int j = 0; j < 2; ++j) {
#pragma unroll
      for (int e = 0; e < 2; ++e)
        factor.split(
            i, j, e,
            *tile.at(row + token_of<float>(lane % 4 * 2 + j * 8 + e), column + lane / 4 + i * 8));
    }
  }
  return factor;
}

// tile[row + token_of(m)][column + n] = sum[m][n], rounded
template <typename Element, int kRows, int kWidth>
__device__ void store(const Sum& sum, Tile<Element, kRows, kWidth> tile, int row, int column,
                      unsigned lane) {
#pragma unroll
  for (int i = 0; i < 2; ++i) {
#pragma unroll
    for (int j = 0; j < 2; ++j) {
      Element* const to =
          tile.at(row + token_of<Element>(lane / 4 + i * 8), column + lane % 4 * 2 + j * 8);
      const float first = sum.d[j][2 * i], second = sum.d[j][2 * i + 1];
      if constexpr (sizeof(Element) == 2) {
        *reinterpret_cast<std::uint32_t*>(to) = ladder::cuda::pack_bf16(first, second);
      } else {
        *reinterpret_cast<float2*>(to) = make_float2(first, second);
      }
    }
  }
}

}  // namespace chunkwise
