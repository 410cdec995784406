// Device memory for the time of one call.
#pragma once

#include <cuda_runtime.h>

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "common/cuda/check.hpp"

namespace ladder::cuda {

// The pool keeps what is freed for the next call, instead of giving it back to the driver at the next synchronisation: asking the
// driver anew takes longer than many a kernel. Said once for each device: a call that is recorded as a graph may not say it.
inline void keep_freed_memory() {
  static std::atomic<std::uint64_t> said{0};  // a bit for each device
  int device = 0;
  cudaMemPool_t pool = nullptr;
  std::uint64_t everything = UINT64_MAX;
  CUDA_CHECK(cudaGetDevice(&device));
  const std::uint64_t bit = std::uint64_t{1} << device % 64;
  if ((said & bit) != 0) return;
  CUDA_CHECK(cudaDeviceGetDefaultMemPool(&pool, device));
  CUDA_CHECK(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &everything));
  said |= bit;
}

// `count` elements, allocated and freed in the order of the default stream: kernels launched in this object's life may use
// them, and nobody waits. Not initialised.
template <typename Element>
class Scratch {
 public:
  explicit Scratch(std::int64_t count) {
    if (count == 0) return;
    keep_freed_memory();
    CUDA_CHECK(
        cudaMallocAsync(&pointer_, static_cast<std::size_t>(count) * sizeof(Element), nullptr));
  }
  ~Scratch() {
    if (pointer_ != nullptr) cudaFreeAsync(pointer_, nullptr);
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  Element* pointer() const { return pointer_; }  // null where count is 0

 private:
  Element* pointer_ = nullptr;
};

}  // namespace ladder::cuda
