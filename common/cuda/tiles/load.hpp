// Loads fragments from a tile of shared memory, and stores accumulators to it. Each name gives the
// operand's order in the tile as [row][column].
//
//   mk   A from rows m, columns k      nk   B from rows n, columns k: A B^T, q k^T
//   km   A from rows k, columns m      kn   B from rows k, columns n: A B
//
//   a = load_a_mk(tile, row, column, lane);   // the 16 x 16 elements from (row, column) on
//
//   const MkToA q_smem(tile, row, lane);      // the same in two steps: this lane's address,
//   a = q_smem.load(rows, columns);           // then the elements from (row + rows, columns) on
//
// `rows` is a multiple of 8 and `columns` of 16. If both are known at compile time, the second step
// costs at most one instruction besides the load, because the swizzle is an exclusive or.
//
// 16-bit elements are loaded by ldmatrix. Lanes 8 i to 8 i + 7 give the addresses of the eight rows
// of an 8 x 8 matrix, which becomes register i of all lanes. Its transposed form swaps rows and
// columns. One instruction loads a whole A (16 x 16), or two neighbouring B (16 x 8 each). fp32
// uses plain loads, pairs if k runs along a row, single elements if it runs down a column. Source:
// PTX ISA, "Warp-level matrix load instruction: ldmatrix".
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <type_traits>

#include "common/cuda/tensor_core.hpp"
#include "common/cuda/tiles/fragment.hpp"
#include "common/cuda/tiles/swizzle.hpp"

namespace ladder::cuda::tiles {

// A lane's part of 16 x 16 blocks, as four 8 x 8 matrices. kAlong means that k runs along a row of
// the tile. kDown means that the second matrix is below the first one, otherwise to its right.
template <typename Tile, bool kAlong, bool kDown>
struct Lane {
  using Element = typename Tile::Element;
  using Register = typename FragmentA<Element>::Register;
  static constexpr bool kPairs = sizeof(Element) == 2 || kAlong;  // neighbours in a row
  Tile tile;
  unsigned place[kPairs ? 1 : 2];  // two if a pair spans two rows

  __device__ Lane(Tile tile, int row, int lane, int column) : tile(tile) {
    if constexpr (sizeof(Element) == 2 && kDown) {
      place[0] = Tile::place(row + lane % 16, column + lane / 16 * 8);
    } else if constexpr (sizeof(Element) == 2) {
      place[0] = Tile::place(row + lane / 16 * 8 + lane % 8, column + lane / 8 % 2 * 8);
    } else if constexpr (kAlong) {
      place[0] = Tile::place(row + lane / 4, column + lane % 4 * 2);
    } else {
      place[0] = Tile::place(row + lane % 4 * 2, column + lane / 4);
      place[1] = Tile::place(row + lane % 4 * 2 + 1, column + lane / 4);
    }
  }

  __device__ FragmentA<Element> load(int rows, int columns) const {
    static_assert(kAlong == kDown, "this is a B");
    FragmentA<Element> a;
    load(a.x, rows, columns);
    return a;
  }

  // Two neighbouring B, columns n to n + 7 and n + 8 to n + 15.
  __device__ void load(FragmentB<Element> (&b)[2], int rows, int columns) const {
    static_assert(kAlong != kDown, "this is an A");
    Register x[4];
    load(x, rows, columns);
    b[0] = {{x[0], x[1]}}, b[1] = {{x[2], x[3]}};
  }

 private:
  __device__ void load(Register (&x)[4], int rows, int columns) const {
    if constexpr (sizeof(Element) == 2) {
      const Element* const from = moved(tile, place[0], rows, columns);
      kAlong ? load_matrices(x, from) : load_matrices_transposed(x, from);
    } else {
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const int row = rows + 8 * (kDown ? i % 2 : i / 2);
        const int column = columns + 8 * (kDown ? i / 2 : i % 2);
        if constexpr (kPairs) {
          x[i] = *reinterpret_cast<const float2*>(moved(tile, place[0], row, column));
        } else {
          x[i] = {*moved(tile, place[0], row, column), *moved(tile, place[1], row, column)};
        }
      }
    }
  }
};

template <typename Tile>
struct MkToA : Lane<Tile, true, true> {
  __device__ MkToA(Tile tile, int row, int lane, int column = 0)
      : Lane<Tile, true, true>(tile, row, lane, column) {}
};
template <typename Tile>
struct KmToA : Lane<Tile, false, false> {
  __device__ KmToA(Tile tile, int row, int lane, int column = 0)
      : Lane<Tile, false, false>(tile, row, lane, column) {}
};
template <typename Tile>
struct NkToB : Lane<Tile, true, false> {
  __device__ NkToB(Tile tile, int row, int lane, int column = 0)
      : Lane<Tile, true, false>(tile, row, lane, column) {}
};
template <typename Tile>
struct KnToB : Lane<Tile, false, true> {
  __device__ KnToB(Tile tile, int row, int lane, int column = 0)
      : Lane<Tile, false, true>(tile, row, lane, column) {}
};

template <typename Tile>
__device__ auto load_a_mk(Tile tile, int row, int column, int lane) {
  return MkToA(tile, row, lane, column).load(0, 0);
}
template <typename Tile>
__device__ auto load_a_km(Tile tile, int row, int column, int lane) {
  return KmToA(tile, row, lane, column).load(0, 0);
}
template <typename Tile, typename Element>
__device__ void load_b_nk(FragmentB<Element> (&b)[2], Tile tile, int row, int column, int lane) {
  NkToB(tile, row, lane, column).load(b, 0, 0);
}
template <typename Tile, typename Element>
__device__ void load_b_kn(FragmentB<Element> (&b)[2], Tile tile, int row, int column, int lane) {
  KnToB(tile, row, lane, column).load(b, 0, 0);
}

// Stores 16 x 8 accumulators to the tile, rounded to its elements, two neighbours at once.
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
