// What is done with a finished sum, as lesson 13 does it, and how many tiles a size has.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "00_warmup/matmul.hpp"
#include "common/core/errors.hpp"
#include "common/cuda/storage.hpp"

namespace warmup {

template <typename Element>
__device__ float finished(const BasicMatmulArgs<Element>& args, float sum, std::int64_t n) {
  if (args.bias != nullptr) sum += ladder::cuda::load(args.bias + n);
  return args.relu && sum < 0 ? 0.0f : sum;  // fmaxf would make a number of NaN
}

// Blocks for tiles of C with so many rows and columns, one after the other. A grid counts up to 2^31 - 1 of them.
inline unsigned blocks_of_tiles(const MatmulSizes& sizes, std::int64_t rows, std::int64_t columns) {
  const std::int64_t down = (sizes.M + rows - 1) / rows;
  const std::int64_t across = (sizes.N + columns - 1) / columns;
  ladder::require(across == 0 || down <= INT32_MAX / across,
                  "M * N is too large; allowed: up to 2^31 - 1 tiles");
  return static_cast<unsigned>(down * across);
}

}  // namespace warmup
