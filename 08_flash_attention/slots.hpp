// The slots of a grid that hold the tiles of packed sequences, and a block's tile.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "08_flash_attention/sequence.hpp"

namespace flash_attention {

// All sequences' rows in tiles of kRows. If packed, a tile of sequence n is in one of the slots
// from first_slot(n) to first_slot(n + 1) - 1. They are at least as many as its tiles, one or two
// more than its whole ones, so that no thread has to sum the tiles of earlier sequences. Some slots
// hold no tile.

// On the host, the slots of packed sequences, or of `sequences` of T rows each.
template <int kRows>
std::int64_t count_slots(std::int64_t T, const std::int64_t* cu_seqlens, std::int64_t sequences) {
  return cu_seqlens != nullptr ? T / kRows + sequences : (T + kRows - 1) / kRows * sequences;
}

// For packed sequences. Count is the type in which a kernel counts slots. `each` is the number of
// rows per row of T.
template <int kRows, typename Count>
__device__ Count first_slot(std::int64_t T, const std::int64_t* cu_seqlens, Count n, int each = 1) {
  return static_cast<Count>(first_row_of(cu_seqlens, n, T)) * each / kRows + n;
}

#pragma nv_diagnostic push
#pragma nv_diag_suppress 20168  // "unroll 0" is ignored, as intended
// The packed sequence of a slot. kUnroll is 1 if the search must stay a loop, 0 if the compiler may
// choose.
template <int kRows, int kUnroll, typename Count>
__device__ Count sequence_of_slot(std::int64_t T, const std::int64_t* cu_seqlens, Count sequences,
                                  Count slot, int each = 1) {
  Count n = 0;
#ifndef __clang__  // rejects 0
#pragma unroll kUnroll
#endif
  for (Count end = sequences; end - n > 1;) {
    const Count middle = (n + end) / 2;
    (first_slot<kRows>(T, cu_seqlens, middle, each) <= slot ? n : end) = middle;
  }
  return n;
}
#pragma nv_diagnostic pop

// ---- Grids of tiles, heads and sequences; if packed, of slots and heads, with one sequence per
// block ----

// The most packed sequences. Slots, of tiles of at least 32 rows, are then 31-bit numbers, as a
// grid's x must be.
constexpr std::int64_t kMostPacked = std::int64_t{1} << 30;

template <int kRows>
dim3 grid_of_tiles(std::int64_t T, const std::int64_t* cu_seqlens, std::int64_t heads,
                   std::int64_t sequences) {
  static_assert(kRows >= 32);
  const bool is_packed = cu_seqlens != nullptr;
  const std::int64_t tiles = count_slots<kRows>(T, cu_seqlens, is_packed ? sequences : 1);
  return {static_cast<unsigned>(tiles), static_cast<unsigned>(heads),
          static_cast<unsigned>(is_packed ? 1 : sequences)};
}
template <int kRows, typename Element>
dim3 query_grid(const BasicAttentionArgs<Element>& args) {
  return grid_of_tiles<kRows>(args.T_q, args.cu_seqlens_q, args.H_q, sequence_count(args));
}
template <int kRows, typename Element>
dim3 key_grid(const BasicAttentionArgs<Element>& args) {
  return grid_of_tiles<kRows>(args.T_k, args.cu_seqlens_k, args.H_kv, sequence_count(args));
}

// A block's tile, the sequence's rows from tile * kRows on. There may be none.
struct SequenceTile {
  int sequence, tile;
};
template <int kRows>
__device__ SequenceTile tile_of_block(std::int64_t T, const std::int64_t* cu_seqlens,
                                      std::int64_t sequences) {
  int n = static_cast<int>(blockIdx.z), tile = static_cast<int>(blockIdx.x);
  if (cu_seqlens != nullptr) {
    n = sequence_of_slot<kRows, 1>(T, cu_seqlens, static_cast<int>(sequences), tile);
    tile -= first_slot<kRows>(T, cu_seqlens, n);
    if (tile < 0) tile = INT32_MAX / kRows;  // before the first sequence, so past all rows
  }
  return {n, tile};
}
template <int kRows, typename Element>
__device__ SequenceTile query_tile_of_block(const BasicAttentionArgs<Element>& args) {
  return tile_of_block<kRows>(args.T_q, args.cu_seqlens_q, args.sequences);
}
template <int kRows, typename Element>
__device__ SequenceTile key_tile_of_block(const BasicAttentionArgs<Element>& args) {
  return tile_of_block<kRows>(args.T_k, args.cu_seqlens_k, args.sequences);
}

}  // namespace flash_attention
