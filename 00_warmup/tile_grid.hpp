// The number of blocks for a result in tiles.
#pragma once

#include <cstdint>
#include <string>

#include "common/core/errors.hpp"

namespace warmup {

// Blocks for `matrices` results of M rows and N columns, in tiles of `rows` x `columns`. A grid has
// at most 2^31 - 1 blocks, and `sizes` names the arguments in the error.
inline unsigned blocks_of_tiles(const char* sizes, std::int64_t matrices, std::int64_t M,
                                std::int64_t N, std::int64_t rows, std::int64_t columns) {
  const std::int64_t down = (M + rows - 1) / rows, across = (N + columns - 1) / columns;
  ladder::require(matrices == 0 || across == 0 || down <= INT32_MAX / across / matrices,
                  std::string(sizes) + " is too large; allowed: up to 2^31 - 1 tiles");
  return static_cast<unsigned>(matrices * down * across);
}

}  // namespace warmup
