// What the two kernels of Hopper's own instructions share: tiles of panels (common/cuda/hopper.hpp) in shared memory.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "08_flash_attention/slots.hpp"
#include "common/cuda/hopper.hpp"
#include "common/cuda/tensor_core.hpp"

namespace flash_attention {

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

// ---- Products ----

// What a product left, rounded, as the A of the next.
template <typename Element, int kSums>
__device__ void pack_sums(std::uint32_t (&to)[kSums / 8][4], const float (&from)[kSums]) {
#pragma unroll
  for (int i = 0; i < kSums / 8; ++i) {
#pragma unroll
    for (int j = 0; j < 4; ++j)
      to[i][j] = ladder::cuda::pack<Element>(from[8 * i + 2 * j], from[8 * i + 2 * j + 1]);
  }
  ladder::cuda::hopper::pin(to);
}

}  // namespace flash_attention
