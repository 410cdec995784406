// Device memory for the time of one call, allocated and freed in the stream's order: nobody waits.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "common/cuda/check.hpp"

namespace chapter07 {

template <typename Element>
class Scratch {
 public:
  explicit Scratch(std::int64_t count) {
    if (count > 0) CUDA_CHECK(cudaMallocAsync(&pointer_, count * sizeof(Element), nullptr));
  }
  ~Scratch() {
    if (pointer_ != nullptr) cudaFreeAsync(pointer_, nullptr);
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  Element* pointer() const { return pointer_; }  // null where count was 0

 private:
  Element* pointer_ = nullptr;
};

}  // namespace chapter07
