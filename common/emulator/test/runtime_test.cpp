// Documented results and errors of runtime calls, in a plain C++ file without launches.
#include <cuda_runtime.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "emulator/emulator.hpp"

namespace {

class Runtime : public testing::Test {
 protected:
  void SetUp() override {
    emulator::reset();
    ASSERT_EQ(cudaMalloc(&device_, 40), cudaSuccess);
  }
  void TearDown() override {
    EXPECT_EQ(cudaFree(device_), cudaSuccess);
    emulator::reset();
  }
  float* device_ = nullptr;
  float host_[20] = {};
};

TEST_F(Runtime, FreshMemoryIsNanAndAligned) {
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(device_) % 256, 0u);
  ASSERT_EQ(cudaMemcpy(host_, device_, 40, cudaMemcpyDeviceToHost), cudaSuccess);
  for (int i = 0; i < 10; ++i)
    EXPECT_TRUE(std::isnan(host_[i]));
}

// Freed memory is reused, and live allocations never overlap.
TEST_F(Runtime, AllocationsShareTheRangeOfDeviceMemory) {
  const emulator::AddressRange range = emulator::device_memory();
  std::map<const unsigned char*, std::size_t> given;
  const void* highest = nullptr;
  for (std::size_t i = 0; i < 400; ++i) {
    const std::size_t bytes = i * i * 7919 % 100000 + 1;
    unsigned char* at = nullptr;
    ASSERT_EQ(cudaMalloc(&at, bytes), cudaSuccess);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(at) % 256, 0u);
    EXPECT_TRUE(at >= range.begin && at + bytes <= range.end);
    const auto after = given.upper_bound(at);
    EXPECT_TRUE(after == given.end() || at + bytes <= after->first);
    EXPECT_TRUE(after == given.begin() || at >= std::prev(after)->first + std::prev(after)->second);
    given[at] = bytes;
    if (i % 3 == 0) continue;
    const auto gone = std::next(given.begin(), static_cast<std::ptrdiff_t>(i % given.size()));
    EXPECT_EQ(cudaFree(const_cast<unsigned char*>(gone->first)), cudaSuccess);
    given.erase(gone);
    if (i == 200) highest = std::prev(given.end())->first;
  }
#ifndef __SANITIZE_ADDRESS__  // recognises late accesses by the address
  EXPECT_LT(static_cast<const unsigned char*>(highest) - given.begin()->first, 100 * 100000);
#endif
  for (const auto& [at, bytes] : given)
    EXPECT_EQ(cudaFree(const_cast<unsigned char*>(at)), cudaSuccess);
}

// Larger than the range opened before, and returned at once.
TEST_F(Runtime, LargeAllocations) {
  constexpr std::size_t kBytes = std::size_t{200} << 20;
  for (int round = 0; round < 2; ++round) {
    unsigned char *at = nullptr, last = 0;
    ASSERT_EQ(cudaMalloc(&at, kBytes), cudaSuccess);
    EXPECT_EQ(cudaMemcpy(&last, at + kBytes - 1, 1, cudaMemcpyDeviceToHost), cudaSuccess);
    EXPECT_EQ(last, 0xFF);
    EXPECT_EQ(cudaFree(at), cudaSuccess);
  }
}

TEST_F(Runtime, CopiesAreCheckedAgainstAllocations) {
  EXPECT_EQ(cudaMemcpy(device_, host_, 40, cudaMemcpyHostToDevice), cudaSuccess);
  EXPECT_EQ(cudaMemcpy(device_, host_, 41, cudaMemcpyHostToDevice), cudaErrorInvalidValue);
  EXPECT_NE(emulator::last_report().find("room for 40 bytes"), std::string::npos);
  EXPECT_EQ(cudaMemcpy(device_ + 1, host_, 40, cudaMemcpyDefault), cudaErrorInvalidValue);
  EXPECT_EQ(cudaMemcpy(host_, device_, SIZE_MAX, cudaMemcpyDeviceToHost), cudaErrorInvalidValue);
  EXPECT_EQ(cudaMemcpy(host_, host_ + 10, 40, cudaMemcpyHostToDevice), cudaErrorInvalidValue);
  EXPECT_EQ(cudaMemcpy(device_, device_, 40, cudaMemcpyHostToDevice), cudaErrorInvalidValue);
  EXPECT_EQ(cudaMemcpy(device_, host_, 40, static_cast<cudaMemcpyKind>(9)),
            cudaErrorInvalidMemcpyDirection);
  EXPECT_EQ(cudaMemcpy(host_, host_ + 10, 40, cudaMemcpyHostToHost), cudaSuccess);
  EXPECT_EQ(cudaMemcpy(nullptr, nullptr, 0, cudaMemcpyHostToDevice), cudaSuccess);
  EXPECT_EQ(cudaMemcpyAsync(device_ + 5, device_, 20, cudaMemcpyDeviceToDevice, nullptr),
            cudaSuccess);
}

TEST_F(Runtime, Memset) {
  EXPECT_EQ(cudaMemset(device_, 0, 40), cudaSuccess);
  EXPECT_EQ(cudaMemcpy(host_, device_, 40, cudaMemcpyDefault), cudaSuccess);
  EXPECT_EQ(host_[9], 0.0f);
  EXPECT_EQ(cudaMemset(device_, 0, 41), cudaErrorInvalidValue);
  EXPECT_EQ(cudaMemset(host_, 0, 4), cudaErrorInvalidValue);
}

TEST_F(Runtime, FreeRefusesWhatItDidNotAllocate) {
  EXPECT_EQ(cudaFree(nullptr), cudaSuccess);
  EXPECT_EQ(cudaFree(host_), cudaErrorInvalidValue);
  EXPECT_EQ(cudaFree(device_ + 1), cudaErrorInvalidValue);
  void* other = nullptr;
  ASSERT_EQ(cudaMalloc(&other, 8), cudaSuccess);
  EXPECT_EQ(cudaFreeHost(other), cudaErrorInvalidValue);
  EXPECT_EQ(cudaFree(other), cudaSuccess);
  EXPECT_EQ(cudaFree(other), cudaErrorInvalidValue);
}

TEST_F(Runtime, FreeChecksGuardZones) {
  unsigned char* bytes = nullptr;
  ASSERT_EQ(cudaMallocHost(&bytes, 10), cudaSuccess);
  bytes[10] = 0;
  EXPECT_EQ(cudaFreeHost(bytes), cudaErrorIllegalAddress);
}

TEST_F(Runtime, OutOfMemory) {
  std::size_t free_bytes = 0;
  std::size_t total = 0;
  ASSERT_EQ(cudaMemGetInfo(&free_bytes, &total), cudaSuccess);
  EXPECT_EQ(free_bytes + 40, total);
  void* pointer = device_;
  EXPECT_EQ(cudaMalloc(&pointer, total), cudaErrorMemoryAllocation);
  EXPECT_EQ(pointer, nullptr);
  EXPECT_EQ(cudaMalloc(&pointer, 0), cudaSuccess);
  EXPECT_EQ(pointer, nullptr);
}

TEST_F(Runtime, LastErrorIsKeptUntilRead) {
  EXPECT_EQ(cudaFree(host_), cudaErrorInvalidValue);
  EXPECT_EQ(cudaPeekAtLastError(), cudaErrorInvalidValue);
  EXPECT_EQ(cudaGetLastError(), cudaErrorInvalidValue);
  EXPECT_EQ(cudaGetLastError(), cudaSuccess);
  EXPECT_STREQ(cudaGetErrorName(cudaErrorInvalidValue), "cudaErrorInvalidValue");
  EXPECT_EQ(
      std::string(cudaGetErrorString(cudaErrorInvalidValue)).find("invalid argument: cudaFree"),
      0u);
  EXPECT_STREQ(cudaGetErrorString(cudaErrorMemoryAllocation), "out of memory");
  EXPECT_STREQ(cudaGetErrorString(cudaSuccess), "no error");
}

TEST_F(Runtime, PointersAreClassified) {
  cudaPointerAttributes attributes;
  EXPECT_EQ(cudaPointerGetAttributes(&attributes, device_ + 9), cudaSuccess);
  EXPECT_EQ(attributes.type, cudaMemoryTypeDevice);
  EXPECT_EQ(cudaPointerGetAttributes(&attributes, device_ + 10), cudaSuccess);
  EXPECT_EQ(attributes.type, cudaMemoryTypeUnregistered);
  EXPECT_EQ(cudaPointerGetAttributes(&attributes, host_), cudaSuccess);
  EXPECT_EQ(attributes.type, cudaMemoryTypeUnregistered);
}

TEST_F(Runtime, DevicesAndLimits) {
  int value = 0;
  EXPECT_EQ(cudaGetDeviceCount(&value), cudaSuccess);
  EXPECT_EQ(value, 1);
  EXPECT_EQ(cudaSetDevice(0), cudaSuccess);
  EXPECT_EQ(cudaSetDevice(1), cudaErrorInvalidDevice);
  cudaDeviceProp properties;
  EXPECT_EQ(cudaGetDeviceProperties(&properties, 0), cudaSuccess);
  EXPECT_STREQ(properties.name, "CUDA emulator");
  EXPECT_EQ(properties.warpSize, 32);
  EXPECT_EQ(cudaDeviceGetAttribute(&value, cudaDevAttrMaxSharedMemoryPerBlockOptin, 0),
            cudaSuccess);
  EXPECT_EQ(value, 227 * 1024);
  EXPECT_EQ(cudaDeviceGetAttribute(&value, static_cast<cudaDeviceAttr>(12345), 0),
            cudaErrorInvalidValue);
  EXPECT_EQ(emulator::detail::occupancy(&value, 256, 0), cudaSuccess);
  EXPECT_EQ(value, 8);
}

TEST_F(Runtime, StreamsAndEvents) {
  cudaStream_t stream;
  ASSERT_EQ(cudaStreamCreate(&stream), cudaSuccess);
  cudaEvent_t start;
  cudaEvent_t stop;
  ASSERT_EQ(cudaEventCreate(&start), cudaSuccess);
  ASSERT_EQ(cudaEventCreate(&stop), cudaSuccess);
  float milliseconds = 0;
  EXPECT_EQ(cudaEventElapsedTime(&milliseconds, start, stop), cudaErrorInvalidResourceHandle);
  EXPECT_EQ(cudaEventRecord(start, stream), cudaSuccess);
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
  EXPECT_EQ(cudaEventRecord(stop, stream), cudaSuccess);
  EXPECT_EQ(cudaEventSynchronize(stop), cudaSuccess);
  EXPECT_EQ(cudaEventElapsedTime(&milliseconds, start, stop), cudaSuccess);
  EXPECT_GE(milliseconds, 5.0f);
  EXPECT_EQ(cudaEventDestroy(start), cudaSuccess);
  EXPECT_EQ(cudaEventDestroy(start), cudaErrorInvalidResourceHandle);
  EXPECT_EQ(cudaEventDestroy(stop), cudaSuccess);
  EXPECT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
  EXPECT_EQ(cudaStreamDestroy(stream), cudaSuccess);
  EXPECT_EQ(cudaStreamSynchronize(stream), cudaErrorInvalidResourceHandle);
}

TEST_F(Runtime, AllocatesInTheOrderOfAStream) {
  float* data = nullptr;
  ASSERT_EQ(cudaMallocAsync(&data, 400, nullptr), cudaSuccess);
  EXPECT_EQ(cudaMemset(data, 0, 400), cudaSuccess);
  EXPECT_EQ(cudaFreeAsync(data, nullptr), cudaSuccess);
  EXPECT_EQ(cudaFreeAsync(data, nullptr), cudaErrorInvalidValue);
  EXPECT_EQ(cudaMallocAsync(&data, 400, reinterpret_cast<cudaStream_t>(&data)),
            cudaErrorInvalidResourceHandle);
}

TEST_F(Runtime, HasOneMemoryPool) {
  cudaMemPool_t pool = nullptr;
  std::uint64_t threshold = UINT64_MAX;
  ASSERT_EQ(cudaDeviceGetDefaultMemPool(&pool, 0), cudaSuccess);
  EXPECT_EQ(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &threshold),
            cudaSuccess);
  EXPECT_EQ(cudaMemPoolSetAttribute(nullptr, cudaMemPoolAttrReleaseThreshold, &threshold),
            cudaErrorInvalidValue);
  EXPECT_EQ(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, nullptr),
            cudaErrorInvalidValue);
  EXPECT_EQ(cudaDeviceGetDefaultMemPool(&pool, 7), cudaErrorInvalidDevice);
}

TEST_F(Runtime, TakesTheHostsMemoryWhereItIsToldTo) {
  std::vector<float> host(4, 1.0f);
  EXPECT_EQ(cudaMemset(host.data(), 0, 16), cudaErrorInvalidValue);
  EXPECT_EQ(host[0], 1.0f);
  emulator::allow_host_memory(true);
  EXPECT_EQ(cudaMemset(host.data(), 0, 16), cudaSuccess);
  emulator::allow_host_memory(false);
  EXPECT_EQ(host[3], 0.0f);
}

}  // namespace
