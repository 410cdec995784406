// What the two kernels of Hopper's own instructions share: which tile lies in which slot, and tiles of panels (common/cuda/hopper.hpp) in
// shared memory.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "08_flash_attention/sequence.hpp"
#include "common/cuda/hopper.hpp"

namespace flash_attention {

// ---- Slots ----
//
// All sequences' rows in tiles of kRows. Packed: a tile of sequence n lies in one of the slots from first_slot(n) to
// first_slot(n + 1) - 1. There is one more slot than the sequence has whole tiles, or two: never too few, and nobody has to sum up how
// many tiles the sequences before have. Some slots hold no tile.

// On the host: of packed sequences, or of `sequences` of T rows each.
template <int kRows>
std::int64_t count_slots(std::int64_t T, const std::int64_t* cu_seqlens, std::int64_t sequences) {
  return cu_seqlens != nullptr ? T / kRows + sequences : (T + kRows - 1) / kRows * sequences;
}

// Packed. Count is the type that a kernel counts slots in.
template <int kRows, typename Count>
__device__ Count first_slot(std::int64_t T, const std::int64_t* cu_seqlens, Count n) {
  return static_cast<Count>(first_row_of(cu_seqlens, n, T)) / kRows + n;
}

#pragma nv_diagnostic push
#pragma nv_diag_suppress 20168  // "unroll 0" is ignored, as it should be
// Packed: whose slot it is. kUnroll is 1 where the search must stay a loop, 0 where the compiler may choose.
template <int kRows, int kUnroll, typename Count>
__device__ Count sequence_of_slot(std::int64_t T, const std::int64_t* cu_seqlens, Count sequences,
                                  Count slot) {
  Count n = 0;
#ifndef __clang__  // takes no 0
#pragma unroll kUnroll
#endif
  for (Count end = sequences; end - n > 1;) {
    const Count middle = (n + end) / 2;
    (first_slot<kRows>(T, cu_seqlens, middle) <= slot ? n : end) = middle;
  }
  return n;
}
#pragma nv_diagnostic pop

// ---- Tiles of panels in shared memory ----

// One thread copies a tile: rows of a head, from `row` on. Their bytes count at `here`.
template <typename Element, int kPanels, int kRows>
__device__ void copy_panels(Element (&tile_smem)[kPanels][kRows][ladder::cuda::hopper::kPanel],
                            const CUtensorMap* map, ladder::cuda::hopper::Barrier* here, int head,
                            int row) {
  namespace hopper = ladder::cuda::hopper;
#pragma unroll
  for (int p = 0; p < kPanels; ++p)
    hopper::copy_panel(tile_smem[p], map, here, p * hopper::kPanel, head, row);
}

}  // namespace flash_attention
