// How many blocks a device takes at once, for launchers that choose a kernel by it.
#pragma once

#include <cuda_runtime.h>

#include "common/cuda/call.hpp"
#include "common/cuda/check.hpp"

namespace ladder::cuda {

// How many the current device has.
inline int multiprocessor_count() {
  int device = 0, count = 0;
  CUDA_CHECK(cudaGetDevice(&device));
  CUDA_CHECK(cudaDeviceGetAttribute(&count, cudaDevAttrMultiProcessorCount, device));
  return count;
}

// How many a launcher has to find blocks for. None, where results must not depend on how many batches there are: it then takes what it
// takes for the largest batch.
inline int multiprocessors_to_fill() {
  return call.batch_invariant ? 0 : multiprocessor_count();
}

}  // namespace ladder::cuda
