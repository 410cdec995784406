// A tile is rows of elements in shared memory, swizzled to avoid bank conflicts of lanes.
//
// A lane moves a 16-byte vector (a unit in the code) at once. Shared memory has 32 banks of 4 bytes
// and serves eight vectors at once if their banks differ. Eight vectors of one row do. Eight
// vectors of one column do not if a row is a multiple of 128 bytes, because all begin in the first
// bank. Therefore the vectors of every row are swizzled, and vector u of row r is stored at index u
// ^ r % 8 of its row.
//
//   vectors of a row of 128 bytes   row 0   0 1 2 3 4 5 6 7
//                                   row 1   1 0 3 2 5 4 7 6
//                                   row 2   2 3 0 1 6 7 4 5      ...
//
// The pattern repeats every eight rows.
#pragma once

#include <cuda_runtime.h>

namespace ladder::cuda::tiles {

enum class Layout {
  kStraight,  // row after row, as in 00_warmup
  kSwizzled
};

// Elements of 2 or 4 bytes. A row of kColumns is a multiple of 64 bytes, or of 128 for 4-byte
// elements. `smem` is aligned to 128 bytes.
template <typename Element_, int kColumns_, Layout kLayout = Layout::kSwizzled>
struct Tile {
  using Element = Element_;
  static constexpr int kColumns = kColumns_;
  static constexpr int kUnit = 16 / sizeof(Element);  // elements
  static constexpr int kUnits = kColumns / kUnit;     // per row
  // Vectors are swizzled within groups of 128 or 64 bytes.
  static constexpr int kGroupUnits = kUnits % 8 == 0 ? 8 : 4, kGroup = kGroupUnits * kUnit;
  static_assert(sizeof(Element) == 2 || sizeof(Element) == 4);
  static_assert(kUnits % (sizeof(Element) == 2 ? 4 : 8) == 0);

  Element* smem;

  // Lanes load 4-byte elements as pairs (two vectors of four rows at once) or singly (two vectors
  // of every other row), so both kinds of rows must differ by two vectors. Two rows of 64 bytes
  // share 128 bytes, so they have the same twist.
  static __host__ __device__ constexpr unsigned twist(unsigned row) {
    if (kLayout == Layout::kStraight) return 0;
    if (sizeof(Element) == 4) return 2 * (row % 4 ^ row / 4 % 2);
    return kGroupUnits == 8 ? row % 8 : row / 2 % 4;
  }

  // Index of an element. Unsigned, because a signed remainder costs five instructions.
  static __host__ __device__ constexpr unsigned place(unsigned row, unsigned column) {
    return row * kColumns + (column ^ twist(row) * kUnit);
  }

  __host__ __device__ Element* at(unsigned row, unsigned column) const {
    return smem + place(row, column);
  }

  // The tile from row `rows` on, a multiple of 8.
  __host__ __device__ Tile below(int rows) const { return {smem + rows * kColumns}; }
};

// tile.at(row + rows, column + columns) from place(row, column). `rows` is a multiple of 8, and
// `columns` one of the vector that shares no bit with `column`. If both are known at compile time,
// this is one exclusive or, and the rest is the offset of the load or store.
template <typename Tile>
__host__ __device__ typename Tile::Element* moved(Tile tile, unsigned place, int rows,
                                                  int columns) {
  // Vectors are swizzled within 128 bytes, so higher bits may be added or join the exclusive or.
  // With the sum, 16-bit kernels spilled registers, because it leaves few different addresses, and
  // the compiler kept them all.
  constexpr int kWidth = Tile::kColumns & -Tile::kColumns;
  constexpr int kAmong = sizeof(typename Tile::Element) == 4 ? 32 : kWidth;
  return tile.smem + ((place ^ columns % kAmong) + columns / kAmong * kAmong) +
         rows * Tile::kColumns;
}

// Straight rows need no exclusive or. With one, each column had its own address, the compiler kept
// them all, and 08_flash_attention/05c_weights_in_registers spilled registers.
template <typename Element, int kColumns>
__host__ __device__ Element* moved(Tile<Element, kColumns, Layout::kStraight> tile, unsigned place,
                                   int rows, int columns) {
  return tile.smem + place + columns + rows * kColumns;
}

}  // namespace ladder::cuda::tiles
