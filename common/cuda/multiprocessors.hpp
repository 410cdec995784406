// The number of SMs, for launchers that choose a kernel by it.
#pragma once

#include <cuda_runtime.h>

#include "common/cuda/call.hpp"
#include "common/cuda/check.hpp"

namespace ladder::cuda {

// SMs of the current device.
inline int multiprocessor_count() {
  int device = 0, count = 0;
  CUDA_CHECK(cudaGetDevice(&device));
  CUDA_CHECK(cudaDeviceGetAttribute(&count, cudaDevAttrMultiProcessorCount, device));
  return count;
}

// SMs that a launcher should fill. 0 if results must not depend on the number of batches. The
// launcher then chooses as for the largest batch.
inline int multiprocessors_to_fill() {
  return call.batch_invariant ? 0 : multiprocessor_count();
}

}  // namespace ladder::cuda
