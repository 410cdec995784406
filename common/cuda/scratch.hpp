// Device memory for the duration of one call.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>
#include <string>

#include "common/core/errors.hpp"
#include "common/cuda/call.hpp"
#include "common/cuda/check.hpp"

namespace ladder::cuda {

// For programs that measure time. Freed memory of the current device's pool stays in the pool for
// the next call. Otherwise the pool requests it from the driver again after each synchronisation,
// which takes longer than many a kernel.
inline void keep_freed_memory() {
  int device = 0;
  cudaMemPool_t pool = nullptr;
  std::uint64_t everything = UINT64_MAX;
  CUDA_CHECK(cudaGetDevice(&device));
  CUDA_CHECK(cudaDeviceGetDefaultMemPool(&pool, device));
  CUDA_CHECK(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &everything));
}

// The next `bytes` of the call's workspace, or null while they are only counted.
inline void* take_workspace(std::size_t bytes) {
  constexpr std::size_t kAlign = 256;  // as cudaMalloc aligns
  const std::size_t begin = (call.used + kAlign - 1) / kAlign * kAlign;
  call.used = begin + bytes;
  if (call.only_counts) return nullptr;
  require(call.used <= call.bytes, "workspace_bytes is " + std::to_string(call.bytes) +
                                       "; this call needs more, and the operator's " +
                                       "_workspace function says how many");
  return call.workspace + begin;
}

// `count` elements, from the call's workspace or allocated and freed in stream order, without a
// wait. Kernels launched in this object's lifetime may use them. Not initialised.
template <typename Element>
class Scratch {
 public:
  explicit Scratch(std::int64_t count) {
    if (count == 0) return;
    const std::size_t bytes = static_cast<std::size_t>(count) * sizeof(Element);
    if (call.workspace != nullptr || call.only_counts) {
      pointer_ = static_cast<Element*>(take_workspace(bytes));
      return;
    }
    CUDA_CHECK(cudaMallocAsync(&pointer_, bytes, stream()));
    is_own_ = true;
  }
  ~Scratch() {
    if (is_own_) cudaFreeAsync(pointer_, call.stream);
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  Element* pointer() const { return pointer_; }  // null if count is 0

 private:
  Element* pointer_ = nullptr;
  bool is_own_ = false;
};

}  // namespace ladder::cuda
