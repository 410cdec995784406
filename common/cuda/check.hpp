// CUDA errors become exceptions that name the call, the file and the line.
#pragma once

#include <cuda_runtime.h>

#include <stdexcept>
#include <string>

namespace ladder {

struct CudaError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

inline void check_cuda(cudaError_t status, const char* call, const char* file, int line) {
  if (status == cudaSuccess) return;
  throw CudaError(std::string(call) + " failed at " + file + ":" + std::to_string(line) + ": " +
                  cudaGetErrorName(status) + ": " + cudaGetErrorString(status));
}

}  // namespace ladder

// Only a macro has the text and the line of the call.
#define CUDA_CHECK(call) ::ladder::check_cuda((call), #call, __FILE__, __LINE__)
