// A tile: rows of elements in shared memory. Swizzled, so that lanes that work side by side meet in
// no bank.
//
// What a lane moves at once is a unit of 16 bytes. Shared memory has 32 banks of 4 bytes and serves
// eight units at once, if they lie in different banks. Eight units that lie in a row do. Eight rows
// of one column do not where a row is a multiple of 128 bytes: all begin in the first bank. So in
// every row the units change places: unit u of row r lies in place u ^ r % 8 of its row.
//
//   units of a row of 128 bytes     row 0   0 1 2 3 4 5 6 7
//                                   row 1   1 0 3 2 5 4 7 6
//                                   row 2   2 3 0 1 6 7 4 5      ...
//
// Each eight rows repeat.
#pragma once

#include <cuda_runtime.h>

namespace ladder::cuda::tiles {

enum class Layout {
  kStraight,  // row after row: what 00_warmup begins with
  kSwizzled
};

// Elements of 2 or 4 bytes; rows of kColumns of them, a multiple of 64 bytes, of 4-byte elements of
// 128. `smem` is aligned to 128 bytes.
template <typename Element_, int kColumns_, Layout kLayout = Layout::kSwizzled>
struct Tile {
  using Element = Element_;
  static constexpr int kColumns = kColumns_;
  static constexpr int kUnit = 16 / sizeof(Element);  // elements
  static constexpr int kUnits = kColumns / kUnit;     // of a row
  // Units change places among so many, 128 or 64 bytes.
  static constexpr int kGroupUnits = kUnits % 8 == 0 ? 8 : 4, kGroup = kGroupUnits * kUnit;
  static_assert(sizeof(Element) == 2 || sizeof(Element) == 4);
  static_assert(kUnits % (sizeof(Element) == 2 ? 4 : 8) == 0);

  Element* smem;

  // Of 4-byte elements lanes take pairs, two units of four rows at once, or single elements, two
  // units of every other row: rows of both kinds have to lie two units apart. Two rows of 64 bytes
  // lie side by side, so they change places alike.
  static __host__ __device__ constexpr unsigned twist(unsigned row) {
    if (kLayout == Layout::kStraight) return 0;
    if (sizeof(Element) == 4) return 2 * (row % 4 ^ row / 4 % 2);
    return kGroupUnits == 8 ? row % 8 : row / 2 % 4;
  }

  // Where an element lies, counted in elements. Unsigned: a signed remainder takes five
  // instructions.
  static __host__ __device__ constexpr unsigned place(unsigned row, unsigned column) {
    return row * kColumns + (column ^ twist(row) * kUnit);
  }

  __host__ __device__ Element* at(unsigned row, unsigned column) const {
    return smem + place(row, column);
  }

  // The tile from row `rows` on, a multiple of 8.
  __host__ __device__ Tile below(int rows) const { return {smem + rows * kColumns}; }
};

// tile.at(row + rows, column + columns) from place(row, column): `rows` is a multiple of 8, and
// `columns` one of the unit that has no bit in common with `column`. Where both are known, it is
// one exclusive or, and the rest is an offset in the instruction that loads or stores.
template <typename Tile>
__host__ __device__ typename Tile::Element* moved(Tile tile, unsigned place, int rows,
                                                  int columns) {
  // Units change places within 128 bytes. Bits beyond can be added or take part. Added, they leave
  // fewer different addresses, and the compiler keeps all: 16-bit kernels spilled registers.
  constexpr int kWidth = Tile::kColumns & -Tile::kColumns;
  constexpr int kAmong = sizeof(typename Tile::Element) == 4 ? 32 : kWidth;
  return tile.smem + ((place ^ columns % kAmong) + columns / kAmong * kAmong) +
         rows * Tile::kColumns;
}

// Straight rows need no exclusive or. With one each column had an address of its own, and the
// compiler kept all: 08_flash_attention/05c_weights_in_registers spilled registers.
template <typename Element, int kColumns>
__host__ __device__ Element* moved(Tile<Element, kColumns, Layout::kStraight> tile, unsigned place,
                                   int rows, int columns) {
  return tile.smem + place + columns + rows * kColumns;
}

}  // namespace ladder::cuda::tiles
