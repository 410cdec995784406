// Where the rows of a tile lie in shared memory, so that neither a row nor a column of 16-byte units meets in a bank.
#pragma once

#include <cuda_runtime.h>

namespace flash_attention {

// Rows of kD elements of 2 bytes, kD a multiple of 32. A unit is what one lane moves: 8 elements, 16 bytes. Eight lanes are served
// at once if the places of their units differ modulo 8: eight units that lie in a row do, eight rows of one column do not, because
// kD / 8 shares a factor with 8. So in every row the units change places, by an exclusive or with something of the row's number.
template <int kD>
struct Swizzled {
  static_assert(kD % 32 == 0);
  static constexpr unsigned kColumns = kD & -kD;  // in groups of so many, a power of two

  // Where an element of the tile lies. Two rows of 32 or 96 end where a group of 8 units ends, so they change places alike.
  static __host__ __device__ constexpr unsigned place(unsigned row, unsigned column) {
    const unsigned change = kD % 64 == 0 ? row % 8 : row / 2 % 4;
    return row * kD + (column / 8 ^ change) * 8 + column % 8;
  }

  // place(row, column + d) from place(row, column), for column 0 or 8 and d a multiple of 16: with a known d, one instruction
  // or two.
  static __host__ __device__ constexpr unsigned along(unsigned place, unsigned d) {
    return (place ^ d % kColumns) + d / kColumns * kColumns;
  }
};

}  // namespace flash_attention
