// Device memory with host copies, for the emulator's tests.
#pragma once

#include <cuda_runtime.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <vector>

template <typename T>
class DeviceVector {
 public:
  explicit DeviceVector(std::size_t size) : size_(size) {
    EXPECT_EQ(cudaMalloc(&data_, size * sizeof(T)), cudaSuccess);
  }
  explicit DeviceVector(const std::vector<T>& values) : DeviceVector(values.size()) {
    assign(values);
  }
  ~DeviceVector() { cudaFree(data_); }
  DeviceVector(const DeviceVector&) = delete;
  DeviceVector& operator=(const DeviceVector&) = delete;

  T* data() const { return data_; }

  void assign(const std::vector<T>& values) {
    EXPECT_EQ(cudaMemcpy(data_, values.data(), values.size() * sizeof(T), cudaMemcpyHostToDevice),
              cudaSuccess);
  }
  std::vector<T> host() const {
    std::vector<T> values(size_);
    EXPECT_EQ(cudaMemcpy(values.data(), data_, size_ * sizeof(T), cudaMemcpyDeviceToHost),
              cudaSuccess)
        << cudaGetErrorString(cudaPeekAtLastError());
    return values;
  }

 private:
  std::size_t size_;
  T* data_ = nullptr;
};
