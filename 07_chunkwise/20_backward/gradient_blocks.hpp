// The backward pass's products of 16 x 16 blocks on tensor cores, with factors of bf16 or of float, and the tiles of shared memory
// they come from. blocks.hpp has linear attention's: there tiles of float are padded and their rows reordered, here all are permuted.
//
// A block M lies among the lanes of a warp always in the same way, be it a factor or a sum: with row = lane / 4 and
// pair = lane % 4, a lane holds M[row + 8 i][2 pair + 8 j + e] for i, j, e in {0, 1}. So the sum of one product is a factor of
// the next without leaving its registers.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "common/core/bfloat16.hpp"
#include "common/cuda/tensor_core.hpp"

namespace chunkwise::backward {

using ladder::bfloat16;

constexpr int kBlock = 16;

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

// A float is the sum of two tf32, up to its last bit: 24 bits are 11 and 11 more, and a sign.
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

// sum[m][n] += a[m][0] b[n][0] + ... + a[m][15] b[n][15]: the second factor is given transposed.
inline __device__ void multiply_add(Sum& sum, const Factor<bfloat16>& a,
                                    const Factor<bfloat16>& b) {
#pragma unroll
  for (int j = 0; j < 2; ++j)
    ladder::cuda::mma_bf16(sum.d[j], a.pair, {b.pair[j], b.pair[j + 2]});
}

// Three products of tf32 for one of float; small times small is below the last bit. A tensor core cuts off what it cannot keep
// when it adds, always towards zero, so it adds only these 16 terms; the running sum is rounded to the nearest.
// An instruction multiplies 8 columns. Which of them it takes for its columns `pair` and `pair + 4` is free as long as both factors
// agree: here 2 pair and 2 pair + 1, what a lane has.
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

// A tile of shared memory with rows of kWidth elements, 64 or more. The 16-byte units of a row are permuted, differently in
// neighbouring rows, so that neither rows nor columns of a block meet in a bank.
template <typename Element, int kWidth>
struct Tile {
  static constexpr int kUnit = 16 / sizeof(Element);
  static_assert(kWidth % 64 == 0);
  Element* smem;

  // Unsigned: a signed remainder takes five instructions, and there is an address for every block.
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

// Lane p of four neighbours has x[u] = piece p of unit u; afterwards it has x[u] = piece u of unit p.
inline __device__ void transpose_in_fours(std::uint32_t (&x)[4], int lane) {
#pragma unroll
  for (int bit = 1; bit < 4; bit *= 2) {
    const bool upper = (lane & bit) != 0;
#pragma unroll
    for (int u = 0; u < 4; ++u) {
      if ((u & bit) != 0) continue;
      const std::uint32_t give = upper ? x[u] : x[u | bit];
      const std::uint32_t got = __shfl_xor_sync(0xffffffffu, give, bit);
      if (upper) {
        x[u] = got;
      } else {
        x[u | bit] = got;
      }
    }
  }
}

// The first `rows` rows and `columns` columns of a block to global memory, 16 bytes a lane (bf16) or 8 (float) where `wide`.
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
