// A block's tile of C, by the block's index alone.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

namespace warmup {

struct TilePlace {
  std::int64_t down, across;  // row and column among C's tiles
};

// C consists of `down` rows and `across` columns of tiles. A group is `group` rows of them, 1 or
// more, and the last group may have fewer. Blocks go through the groups in order, and through a
// group by columns.
__host__ __device__ TilePlace grouped_place(std::int64_t block, std::int64_t down,
                                            std::int64_t across, std::int64_t group);

}  // namespace warmup
