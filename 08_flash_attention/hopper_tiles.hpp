// Tiles of panels (common/cuda/hopper.hpp) in shared memory, shared by the Hopper kernels.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "common/cuda/hopper.hpp"
#include "common/cuda/tensor_core.hpp"

namespace flash_attention {

// One thread loads a tile's panels from these coordinates of the map on. Their bytes count on the
// full barrier `full`.
template <typename Element, int kPanels, int kRows>
__device__ void copy_panels(Element (&tile_smem)[kPanels][kRows][ladder::cuda::hopper::kPanel],
                            const CUtensorMap* map, ladder::cuda::hopper::Barrier* full, int column,
                            int middle, int outer) {
  namespace hopper = ladder::cuda::hopper;
#pragma unroll
  for (int p = 0; p < kPanels; ++p)
    hopper::tma_load(tile_smem[p], map, full, column + p * hopper::kPanel, middle, outer);
}

// Packs the accumulators of a product, rounded, as the A of the next.
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
