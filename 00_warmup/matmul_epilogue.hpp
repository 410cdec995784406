// What is done with a finished sum, as lesson 13 does it, and how many tiles a size has.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "00_warmup/matmul.hpp"
#include "00_warmup/tile_grid.hpp"
#include "common/cuda/storage.hpp"

namespace warmup {

template <typename Element>
__device__ float finished(const BasicMatmulArgs<Element>& args, float sum, std::int64_t n) {
  if (args.bias != nullptr) sum += ladder::cuda::load(args.bias + n);
  return args.relu && sum < 0 ? 0.0f : sum;  // fmaxf would make a number of NaN
}

inline unsigned blocks_of_tiles(const MatmulSizes& sizes, std::int64_t rows, std::int64_t columns) {
  return blocks_of_tiles("M * N", 1, sizes.M, sizes.N, rows, columns);
}

}  // namespace warmup
