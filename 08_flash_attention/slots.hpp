// Which tile of packed sequences lies in which slot of a grid, and which tile of which sequence a block has.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "08_flash_attention/sequence.hpp"

namespace flash_attention {

// All sequences' rows in tiles of kRows. Packed: a tile of sequence n lies in one of the slots from first_slot(n) to
// first_slot(n + 1) - 1. There is one more slot than the sequence has whole tiles, or two: never too few, and nobody has to sum up how
// many tiles the sequences before have. Some slots hold no tile.

// On the host: of packed sequences, or of `sequences` of T rows each.
template <int kRows>
std::int64_t count_slots(std::int64_t T, const std::int64_t* cu_seqlens, std::int64_t sequences) {
  return cu_seqlens != nullptr ? T / kRows + sequences : (T + kRows - 1) / kRows * sequences;
}

// Packed. Count is the type that a kernel counts slots in. `each`: rows that one of T is.
template <int kRows, typename Count>
__device__ Count first_slot(std::int64_t T, const std::int64_t* cu_seqlens, Count n, int each = 1) {
  return static_cast<Count>(first_row_of(cu_seqlens, n, T)) * each / kRows + n;
}

#pragma nv_diagnostic push
#pragma nv_diag_suppress 20168  // "unroll 0" is ignored, as it should be
// Packed: whose slot it is. kUnroll is 1 where the search must stay a loop, 0 where the compiler may choose.
template <int kRows, int kUnroll, typename Count>
__device__ Count sequence_of_slot(std::int64_t T, const std::int64_t* cu_seqlens, Count sequences,
                                  Count slot, int each = 1) {
  Count n = 0;
#ifndef __clang__  // takes no 0
#pragma unroll kUnroll
#endif
  for (Count end = sequences; end - n > 1;) {
    const Count middle = (n + end) / 2;
    (first_slot<kRows>(T, cu_seqlens, middle, each) <= slot ? n : end) = middle;
  }
  return n;
}
#pragma nv_diagnostic pop

// ---- Grids of tiles, heads and sequences; of packed sequences, of slots and heads: no blocks of one sequence for another's rows ----

// Packed sequences that there may be: slots, of tiles of 32 rows at least, are then numbers of 31 bits, as a grid's first side wants them.
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

// What a block of such a grid has to do: the sequence's rows from tile * kRows on. There may be none.
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
    if (tile < 0) tile = INT32_MAX / kRows;  // in front of the first sequence: behind all rows
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
