// The epilogue of a finished sum, as in lesson 13, and the number of tiles.
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
  return args.relu && sum < 0 ? 0.0f : sum;  // fmaxf would turn NaN into 0
}

inline unsigned blocks_of_tiles(const MatmulSizes& sizes, std::int64_t rows, std::int64_t columns) {
  return blocks_of_tiles("M * N", 1, sizes.M, sizes.N, rows, columns);
}

}  // namespace warmup
