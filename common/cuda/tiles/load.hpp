// From a tile of shared memory to fragments, and back. Each name says how the operand lies in the
// tile, [row][column]:
//
//   load_a_mk   A from rows m, columns k      load_b_nk   B from rows n, columns k: A B^T, q k^T
//   load_a_km   A from rows k, columns m      load_b_kn   B from rows k, columns n: A B
//
// 16-bit elements come by ldmatrix: lanes 8 i to 8 i + 7 name the eight rows of an 8 x 8 matrix,
// which becomes register i of all lanes; its transposed form swaps rows and columns on the way. One
// instruction loads a whole A (16 x 16), or two B side by side. fp32 comes by plain loads, element
// pairs where k runs along a row. `row` and `column`, multiples of 8, are the block's first.
// Source: PTX ISA, "Warp-level matrix load instruction: ldmatrix".
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <type_traits>

#include "common/cuda/tensor_core.hpp"
#include "common/cuda/tiles/fragment.hpp"
#include "common/cuda/tiles/swizzle.hpp"

namespace ladder::cuda::tiles {

// ---- Which row a lane names ----

// Of 16 x 16 elements from (row, column) on, as four matrices of 8 x 8: down the columns first
// (upper left, lower left, upper right, lower right), or along the rows first (upper left, upper
// right, lower left, lower right). The result is a Tile::place().
template <typename Tile>
__device__ unsigned down_place(int row, int column, int lane) {
  return Tile::place(row + lane % 16, column + lane / 16 * 8);
}
template <typename Tile>
__device__ unsigned along_place(int row, int column, int lane) {
  return Tile::place(row + lane / 16 * 8 + lane % 8, column + lane / 8 % 2 * 8);
}

// Two neighbours along k: side by side in a row of the tile, or one below the other.
template <bool kAlong, typename Tile>
__device__ float2 pair_at(Tile tile, int row, int column) {
  if constexpr (kAlong) {
    return *reinterpret_cast<const float2*>(tile.at(row, column));
  } else {
    return {*tile.at(row, column), *tile.at(row + 1, column)};
  }
}

// ---- A ----

template <typename Tile, typename Element = typename Tile::Element>
__device__ FragmentA<Element> load_a_mk(Tile tile, int row, int column, int lane) {
  FragmentA<Element> a;
  if constexpr (sizeof(Element) == 2) {
    load_matrices(a.x, tile.smem + down_place<Tile>(row, column, lane));
  } else {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const Place mk = a.place(lane, i);
      a.x[i] = pair_at<true>(tile, row + mk.row, column + mk.column);
    }
  }
  return a;
}

template <typename Tile, typename Element = typename Tile::Element>
__device__ FragmentA<Element> load_a_km(Tile tile, int row, int column, int lane) {
  FragmentA<Element> a;
  if constexpr (sizeof(Element) == 2) {
    load_matrices_transposed(a.x, tile.smem + along_place<Tile>(row, column, lane));
  } else {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const Place mk = a.place(lane, i);
      a.x[i] = pair_at<false>(tile, row + mk.column, column + mk.row);
    }
  }
  return a;
}

// ---- B: columns n to n + 7 and n + 8 to n + 15 ----

template <typename Tile, typename Element = typename Tile::Element>
__device__ void load_b_nk(FragmentB<Element> (&b)[2], Tile tile, int row, int column, int lane) {
  if constexpr (sizeof(Element) == 2) {
    std::uint32_t x[4];
    load_matrices(x, tile.smem + along_place<Tile>(row, column, lane));
    b[0] = {{x[0], x[1]}}, b[1] = {{x[2], x[3]}};
  } else {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const Place kn = b[0].place(lane, i % 2);
      b[i / 2].x[i % 2] = pair_at<true>(tile, row + i / 2 * 8 + kn.column, column + kn.row);
    }
  }
}

template <typename Tile, typename Element = typename Tile::Element>
__device__ void load_b_kn(FragmentB<Element> (&b)[2], Tile tile, int row, int column, int lane) {
  if constexpr (sizeof(Element) == 2) {
    std::uint32_t x[4];
    load_matrices_transposed(x, tile.smem + down_place<Tile>(row, column, lane));
    b[0] = {{x[0], x[1]}}, b[1] = {{x[2], x[3]}};
  } else {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const Place kn = b[0].place(lane, i % 2);
      b[i / 2].x[i % 2] = pair_at<false>(tile, row + kn.row, column + i / 2 * 8 + kn.column);
    }
  }
}

// ---- C ----

// 16 x 8 sums to the tile, rounded to its elements, two neighbours at once.
template <typename Tile>
__device__ void store_c(Tile tile, int row, int column, const Accumulator& c, int lane) {
  using Element = typename Tile::Element;
#pragma unroll
  for (int i = 0; i < 4; i += 2) {
    const Place mn = accumulator_place(lane, i);
    const auto pair = as_register<Element>(c[i], c[i + 1]);
    *reinterpret_cast<std::remove_const_t<decltype(pair)>*>(
        tile.at(row + mn.row, column + mn.column)) = pair;
  }
}

}  // namespace ladder::cuda::tiles
