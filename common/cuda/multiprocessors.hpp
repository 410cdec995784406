// How many blocks a device takes at once, for launchers that choose a kernel by it.
#pragma once

#include <cuda_runtime.h>

#include "common/cuda/check.hpp"

namespace ladder::cuda {

// How many the current device has.
inline int multiprocessor_count() {
  int device = 0, count = 0;
  CUDA_CHECK(cudaGetDevice(&device));
  CUDA_CHECK(cudaDeviceGetAttribute(&count, cudaDevAttrMultiProcessorCount, device));
  return count;
}

}  // namespace ladder::cuda
