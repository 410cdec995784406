// Which tile of C a block takes, by the block's number alone.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

namespace warmup {

struct TilePlace {
  std::int64_t down, across;  // of C's tiles: which row of them, and which column
};

// C has `down` rows and `across` columns of tiles. A group is `group` rows of them, 1 or more; the last one may have fewer. Blocks
// take the groups one after the other, and in a group all tiles of a column before the next column.
__host__ __device__ TilePlace grouped_place(std::int64_t block, std::int64_t down,
                                            std::int64_t across, std::int64_t group);

}  // namespace warmup
