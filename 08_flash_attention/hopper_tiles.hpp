// What the two kernels of Hopper's own instructions share: tiles of panels (common/cuda/hopper.hpp) in shared memory.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "08_flash_attention/slots.hpp"
#include "common/cuda/hopper.hpp"

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

}  // namespace flash_attention
