// Dynamic shared memory above 48 KB, on request only. Devices allow 64 to 227 KB per block.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <string>

#include "common/core/errors.hpp"
#include "common/cuda/check.hpp"

namespace ladder::cuda {

// Maximum bytes per block of the current device.
inline std::size_t most_shared_memory() {
  int device = 0, bytes = 0;
  CUDA_CHECK(cudaGetDevice(&device));
  CUDA_CHECK(cudaDeviceGetAttribute(&bytes, cudaDevAttrMaxSharedMemoryPerBlockOptin, device));
  return static_cast<std::size_t>(bytes);
}

// Lets `kernel` be launched with `bytes` of dynamic shared memory, or throws NotOnThisDevice in the
// name of `who` ("attention_backward"). Launchers call it for all their kernels before any work.
template <typename... Parameters>
void allow_shared_memory(const char* who, void (*kernel)(Parameters...), std::size_t bytes) {
  const std::size_t most = most_shared_memory();
  if (bytes > most) {
    std::string text = who;  // in steps, as g++ 12 gives a false warning for one sum at -O1
    text.append(" needs ").append(std::to_string((bytes + 1023) / 1024));
    text.append(" KB of shared memory per block; this GPU allows ");
    text.append(std::to_string(most / 1024)).append(" KB");
    throw NotOnThisDevice(text);
  }
  CUDA_CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                  static_cast<int>(bytes)));
}

}  // namespace ladder::cuda
