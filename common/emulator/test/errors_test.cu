// Wrong kernels and launches are reported with kernel, block, thread, file and line.
#include <cuda_runtime.h>
#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <vector>

#include "after_reset.hpp"
#include "device_vector.hpp"
#include "emulator/smaller_device.hpp"

namespace {

using emulator::SmallerDevice;

class Errors : public AfterReset {};

std::string at_line(int line) {
  return "errors_test.cu:" + std::to_string(line);
}

void expect_report(cudaError_t expected, const std::vector<std::string>& parts) {
  const cudaError_t error = cudaGetLastError();
  EXPECT_EQ(error, expected) << cudaGetErrorName(error);
  const std::string text = cudaGetErrorString(error);
  for (const std::string& part : parts) {
    EXPECT_NE(text.find(part), std::string::npos) << "no \"" << part << "\" in: " << text;
  }
  EXPECT_EQ(cudaGetLastError(), cudaSuccess);
}

int barrier_line = 0;
__global__ void barrier_in_a_branch() {
  if (blockIdx.x == 2 && threadIdx.x >= 10) return;
  barrier_line = __LINE__ + 1;
  __syncthreads();
}

TEST_F(Errors, BarrierThatSomeThreadsNeverReach) {
  emulator::set_workers(1);
  barrier_in_a_branch<<<4, 64>>>();
  expect_report(
      cudaErrorLaunchFailure,
      {at_line(barrier_line), "divergent __syncthreads", "kernel barrier_in_a_branch",
       "block (2, 0, 0)", "10 threads wait", "54 threads have returned", "thread (10, 0, 0)"});
}

int first_site = 0;
int second_site = 0;
__global__ void barriers_at_two_sites() {
  if (threadIdx.x % 2 == 0) {
    first_site = __LINE__ + 1;
    __syncthreads();
  } else {
    second_site = __LINE__ + 1;
    __syncthreads();
  }
}

TEST_F(Errors, BarriersAtDifferentSites) {
  barriers_at_two_sites<<<1, 8>>>();
  expect_report(cudaErrorLaunchFailure,
                {at_line(first_site), at_line(second_site), "4 threads wait", "thread (1, 0, 0)"});
}

__global__ void different_masks() {
  if (threadIdx.x < 16) {
    __syncwarp();
  } else {
    __syncwarp(0xffff0000u);
    __syncthreads();
  }
}
__global__ void mask_deadlock() {
  __shfl_sync(threadIdx.x == 3 ? 0x0000000fu : 0xffffffffu, 1, 0);
}

TEST_F(Errors, WarpOperationsThatNeverComplete) {
  different_masks<<<1, 32>>>();
  expect_report(cudaErrorLaunchFailure, {"__syncthreads", "__syncwarp with mask 0xffffffff"});
  mask_deadlock<<<1, 32>>>();
  expect_report(cudaErrorLaunchFailure, {"deadlock", "__shfl_sync with mask 0x0000000f"});
}

int mask_line = 0;
__global__ void mask_without_caller() {
  mask_line = __LINE__ + 1;
  if (threadIdx.x == 40) __ballot_sync(0x1u, 1);
}
__global__ void bad_width(int* out) {
  out[threadIdx.x] = __shfl_sync(0xffffffffu, 1, 0, 12);
}
__global__ void trapped() {
  if (threadIdx.x == 1) __trap();
}

TEST_F(Errors, ErrorsOfOneThreadNameIt) {
  mask_without_caller<<<1, 64>>>();
  expect_report(cudaErrorLaunchFailure,
                {at_line(mask_line), "leaves out the calling lane 8", "thread (40, 0, 0)"});
  bad_width<<<1, 32>>>(nullptr);
  expect_report(cudaErrorLaunchFailure, {"width", "thread (0, 0, 0)"});
  trapped<<<1, 32>>>();
  expect_report(cudaErrorLaunchFailure, {"__trap()", "thread (1, 0, 0)"});
}

#if !defined(__SANITIZE_ADDRESS__)  // ends the program at such an index, with its own message
int register_line = 0;
__global__ void one_too_far(float* out, int n) {
  float sums[4] = {};
  register_line = __LINE__ + 2;
  for (int i = 0; i < n; ++i)
    sums[i] += 1.0f;
  out[threadIdx.x] = sums[0] + sums[3];
}
int shared_line = 0;
__global__ void one_row_too_far(float* out, int column) {
  __shared__ float tile[8][32];
  shared_line = __LINE__ + 1;
  tile[threadIdx.x][column] = 1.0f;
  __syncthreads();
  out[threadIdx.x] = tile[threadIdx.x][0];
}

TEST_F(Errors, IndicesBeyondAnArraysType) {
  emulator::set_workers(1);
  DeviceVector<float> out(std::vector<float>(32));
  one_too_far<<<1, 32>>>(out.data(), 4);
  EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  one_too_far<<<1, 32>>>(out.data(), 5);
  expect_report(cudaErrorLaunchFailure,
                {at_line(register_line), "index 4 is outside of an array 'float",
                 "kernel one_too_far", "thread (0, 0, 0)"});
  one_row_too_far<<<1, 8>>>(out.data(), 0);
  EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  one_row_too_far<<<1, 9>>>(out.data(), 0);
  expect_report(cudaErrorLaunchFailure,
                {at_line(shared_line), "index 8 is outside", "thread (8, 0, 0)"});
  one_row_too_far<<<1, 8>>>(out.data(), -1);
  expect_report(cudaErrorLaunchFailure, {at_line(shared_line), "index -1 is outside"});
}
#endif

__global__ void count_blocks(int* count) {
  if (threadIdx.x == 0) atomicAdd(count, 1);
  if (blockIdx.x == 5 && threadIdx.x == 0) __trap();
  __syncthreads();
}

TEST_F(Errors, NoBlockStartsAfterAnErrorAndTheNextLaunchRuns) {
  emulator::set_workers(1);
  DeviceVector<int> count(std::vector<int>{0});
  count_blocks<<<100, 64>>>(count.data());
  EXPECT_EQ(cudaDeviceSynchronize(), cudaErrorLaunchFailure);
  EXPECT_EQ(cudaGetLastError(), cudaErrorLaunchFailure);
  EXPECT_EQ(count.host()[0], 6);
  count_blocks<<<5, 64>>>(count.data());
  EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  EXPECT_EQ(count.host()[0], 11);
}

__global__ void nothing() {}

TEST_F(Errors, ImpossibleLaunches) {
  const auto refused = [](dim3 grid, dim3 block, const char* why) {
    const int line = __LINE__ + 1;
    nothing<<<grid, block>>>();
    expect_report(cudaErrorInvalidConfiguration, {at_line(line), "kernel nothing", why});
    EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  };
  refused(0, 1, "grid is 0");
  refused(dim3(1, 1, 0), 1, "grid is 0");
  refused(1, 0, "block is 0");
  refused(1, dim3(1, 1, 0), "block is 0");
  refused(1, 1025, "more than 1024 threads");
  refused(1, dim3(64, 17), "more than 1024 threads");
  refused(1, dim3(1, 1, 65), "block.z is above 64");
  refused(dim3(1, 65536), 1, "65535");
  refused(dim3(1, 1, 65536), 1, "65535");
  refused(0x80000000u, 1, "2147483647");
  nothing<<<dim3(1, 65535), 1>>>();
  EXPECT_EQ(cudaGetLastError(), cudaSuccess);
}

template <int kX, int kY>
struct Tile {
  static constexpr int kThreads = kX * kY;
};
int bounded_line = 0;
template <int kX, int kY>
__global__ void __launch_bounds__(Tile<kX, kY>::kThreads, 2) bounded(int* count) {
  bounded_line = __LINE__ - 1;
  atomicAdd(count, 1);
}

TEST_F(Errors, MoreThreadsThanLaunchBoundsPromise) {
  DeviceVector<int> count(std::vector<int>{0});
  bounded<32, 4><<<3, 128>>>(count.data());
  bounded<32, 4><<<3, dim3(2, 8, 8)>>>(count.data());
  EXPECT_EQ(cudaGetLastError(), cudaSuccess);
  EXPECT_EQ(count.host()[0], 2 * 3 * 128);
  for (const dim3 block : {dim3(129), dim3(2, 8, 9), dim3(1024)}) {
    bounded<32, 4><<<3, block>>>(count.data());
    expect_report(cudaErrorInvalidValue,
                  {at_line(bounded_line), "kernel bounded<32, 4>",
                   "the block has " + std::to_string(block.x * block.y * block.z) + " threads",
                   "__launch_bounds__ allows 128"});
    EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  }
  EXPECT_EQ(count.host()[0], 2 * 3 * 128) << "a refused launch has no effect";
}

template <int bytes>
__global__ void shared_bytes(int* out) {
  extern __shared__ char dynamic[];
  __shared__ char fixed[bytes];
  fixed[0] = 1;
  if (out != nullptr) *out = dynamic[0];
}

template <typename T>
__global__ void deduced(T*, long) {}

TEST_F(Errors, TooMuchSharedMemory) {
  shared_bytes<1024><<<1, 1, 48 * 1024 - 1024>>>(nullptr);
  EXPECT_EQ(cudaGetLastError(), cudaSuccess);
  EXPECT_EQ(emulator::last_launch().static_shared_bytes, 1024u);
  EXPECT_EQ(emulator::last_launch().dynamic_shared_bytes, 47u * 1024);
  shared_bytes<1024><<<1, 1, 48 * 1024 - 1023>>>(nullptr);
  expect_report(cudaErrorInvalidValue, {"too much shared memory", "shared_bytes<1024>"});
  shared_bytes<49153><<<1, 1>>>(nullptr);
  expect_report(cudaErrorInvalidValue, {"too much shared memory"});
  shared_bytes<1><<<1, 1, 48 * 1024 + 1>>>(nullptr);
  expect_report(cudaErrorInvalidValue, {"49153 bytes of dynamic shared memory"});

  constexpr auto kAttribute = cudaFuncAttributeMaxDynamicSharedMemorySize;
  EXPECT_EQ(cudaFuncSetAttribute(shared_bytes<1>, kAttribute, 200 * 1024), cudaSuccess);
  shared_bytes<1><<<1, 1, 200 * 1024>>>(nullptr);
  EXPECT_EQ(cudaGetLastError(), cudaSuccess);
  shared_bytes<2><<<1, 1, 200 * 1024>>>(nullptr);
  expect_report(cudaErrorInvalidValue, {"allowed: 49152"});
  EXPECT_EQ(cudaFuncSetAttribute(shared_bytes<1>, kAttribute, 227 * 1024 + 1),
            cudaErrorInvalidValue);
  cudaGetLastError();
  EXPECT_EQ(cudaFuncSetAttribute(deduced<int>, kAttribute, 64 * 1024), cudaSuccess);
  deduced<<<1, 1, 64 * 1024>>>(static_cast<int*>(nullptr), 1l);
  EXPECT_EQ(cudaGetLastError(), cudaSuccess);
  deduced<<<1, 1, 64 * 1024>>>(static_cast<int*>(nullptr), 1);  // no overload is looked for
  expect_report(cudaErrorInvalidValue, {"write the kernel's template arguments"});
}

__global__ void write_at(float* out, int index) {
  out[index] = 1;
}

TEST_F(Errors, SharedMemoryOfASmallerDevice) {
  const SmallerDevice device(SmallerDevice::kSharedMemoryKb, "99");
  constexpr auto kAttribute = cudaFuncAttributeMaxDynamicSharedMemorySize;
  int most = 0, both = 0, blocks = 0;
  EXPECT_EQ(cudaDeviceGetAttribute(&most, cudaDevAttrMaxSharedMemoryPerBlockOptin, 0), cudaSuccess);
  EXPECT_EQ(cudaDeviceGetAttribute(&both, cudaDevAttrMaxSharedMemoryPerMultiprocessor, 0),
            cudaSuccess);
  EXPECT_EQ(most, 99 * 1024);
  EXPECT_EQ(both, 100 * 1024);
  cudaDeviceProp properties;
  EXPECT_EQ(cudaGetDeviceProperties(&properties, 0), cudaSuccess);
  EXPECT_EQ(properties.sharedMemPerBlockOptin, 99u * 1024);
  EXPECT_EQ(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, shared_bytes<3>, 128, 64 * 1024),
            cudaSuccess);
  EXPECT_EQ(blocks, 1);

  EXPECT_EQ(cudaFuncSetAttribute(shared_bytes<3>, kAttribute, 99 * 1024 + 1),
            cudaErrorInvalidValue);
  expect_report(cudaErrorInvalidValue, {"0 to 101376 bytes"});
  EXPECT_EQ(cudaFuncSetAttribute(shared_bytes<3>, kAttribute, 99 * 1024), cudaSuccess);
  shared_bytes<3><<<1, 1, 99 * 1024 - 3>>>(nullptr);
  EXPECT_EQ(cudaGetLastError(), cudaSuccess);
  shared_bytes<3><<<1, 1, 99 * 1024 - 2>>>(nullptr);
  expect_report(cudaErrorInvalidValue, {"too much shared memory", "101376 together"});
}

TEST_F(Errors, MultiprocessorsOfASmallerDevice) {
  const auto count = [] {
    int attribute = 0;
    EXPECT_EQ(cudaDeviceGetAttribute(&attribute, cudaDevAttrMultiProcessorCount, 0), cudaSuccess);
    cudaDeviceProp properties;
    EXPECT_EQ(cudaGetDeviceProperties(&properties, 0), cudaSuccess);
    EXPECT_EQ(properties.multiProcessorCount, attribute);
    return attribute;
  };
  const int whole = count();
  {
    const SmallerDevice device(SmallerDevice::kMultiprocessors, "2");
    EXPECT_EQ(count(), 2);
    const SmallerDevice smaller(SmallerDevice::kMultiprocessors, "1");
    EXPECT_EQ(count(), 1);
  }
  EXPECT_EQ(count(), whole);
}

TEST_F(Errors, CacheOfASmallerDevice) {
  const SmallerDevice device(SmallerDevice::kL2CacheKb, "1024");
  int bytes = 0;
  EXPECT_EQ(cudaDeviceGetAttribute(&bytes, cudaDevAttrL2CacheSize, 0), cudaSuccess);
  EXPECT_EQ(bytes, 1 << 20);
}

TEST_F(Errors, LimitsThatNoDeviceHas) {
  const auto refused = [](const char* variable, cudaDeviceAttr attribute,
                          const std::vector<const char*>& values, const std::string& allowed) {
    for (const char* wrong : values) {
      const SmallerDevice device(variable, wrong);
      int value = 0;
      EXPECT_EXIT(cudaDeviceGetAttribute(&value, attribute, 0), testing::ExitedWithCode(2),
                  std::string(variable) + " is .*; allowed: " + allowed);
    }
  };
  refused(SmallerDevice::kSharedMemoryKb, cudaDevAttrMaxSharedMemoryPerBlockOptin,
          {"", "99KB", "47", "228", "-1"}, "48 to 227");
  refused(SmallerDevice::kMultiprocessors, cudaDevAttrMultiProcessorCount, {"", "0", "133", "2.5"},
          "1 to 132");
  refused(SmallerDevice::kL2CacheKb, cudaDevAttrL2CacheSize, {"", "0", "51201"}, "1 to 51200");
}

TEST_F(Errors, GuardZonesOfAllocations) {
  DeviceVector<float> out(10);
  write_at<<<1, 1>>>(out.data(), 10);
  EXPECT_EQ(cudaDeviceSynchronize(), cudaErrorIllegalAddress);
  expect_report(cudaErrorIllegalAddress,
                {"behind the allocation of 40 bytes", "0 to 3 bytes after", "kernel write_at"});
  write_at<<<1, 1>>>(out.data(), -1);
  expect_report(cudaErrorIllegalAddress, {"in front of the allocation", "1 to 4 bytes before"});
  write_at<<<1, 1>>>(out.data(), 9);
  EXPECT_EQ(cudaGetLastError(), cudaSuccess);
}

int declared_line = 0;
__global__ void write_behind_shared(int index) {
  declared_line = __LINE__ + 1;
  __shared__ float tile[8];
  float* volatile start = tile;
  start[index] = 0;
}

TEST_F(Errors, GuardZonesOfSharedMemory) {
  write_behind_shared<<<1, 1>>>(7);
  EXPECT_EQ(cudaGetLastError(), cudaSuccess);
  write_behind_shared<<<1, 1>>>(8);
  expect_report(cudaErrorIllegalAddress,
                {at_line(declared_line), "behind the 32 bytes declared here", "block (0, 0, 0)"});
}

__global__ void add_one(float* to, const float* from, int n) {
  for (int i = 0; i < n; ++i)
    to[i] = from[i] + 1.0f;
}

float of_the_program[4];

TEST_F(Errors, HostPointersAmongAKernelsArguments) {
  const DeviceVector<float> device(std::vector<float>(4, 1.0f));
  std::vector<float> heap(4);
  float stack[4] = {};
  for (float* const host : {heap.data(), stack}) {
    add_one<<<1, 1>>>(device.data(), host, 4);
    expect_report(cudaErrorIllegalAddress,
                  {at_line(__LINE__ - 2), "kernel add_one", "argument 2 points to host memory",
                   "cudaMalloc and cudaMemcpy"});
    add_one<<<1, 1>>>(host, device.data(), 4);
    expect_report(cudaErrorIllegalAddress, {"argument 1 points to host memory"});
  }
  EXPECT_EQ(device.host(), std::vector<float>(4, 1.0f)) << "a refused launch has no effect";

  float* pinned = nullptr;
  ASSERT_EQ(cudaMallocHost(&pinned, 4 * sizeof(float)), cudaSuccess);
  add_one<<<1, 1>>>(pinned, device.data(), 4);
  EXPECT_EQ(pinned[3], 2.0f) << "the host reads its own memory";
  add_one<<<1, 1>>>(of_the_program, pinned, 4);
  EXPECT_EQ(of_the_program[3], 3.0f);
  add_one<<<1, 1>>>(device.data() + 4, nullptr, 0);
  EXPECT_EQ(cudaGetLastError(), cudaSuccess) << "null, and the end of an array";
  EXPECT_EQ(cudaFreeHost(pinned), cudaSuccess);
}

TEST_F(Errors, TheHostTouchesDeviceMemory) {
  const DeviceVector<float> array(std::vector<float>(4, 1.0f));
  volatile float* const at = array.data() + 1;
  const std::string advice = " device memory; copy it with cudaMemcpy";
  const auto touch = [&](const char* when) {
    SCOPED_TRACE(when);
    EXPECT_DEATH(static_cast<void>(*at), "the host reads" + advice);
    EXPECT_DEATH(*at = 1.0f, "the host writes" + advice);
  };
  touch("after a copy");
  add_one<<<1, 1>>>(array.data(), array.data(), 4);
  touch("after a launch");
  add_one<<<0, 1>>>(array.data(), array.data(), 4);
  EXPECT_EQ(cudaGetLastError(), cudaErrorInvalidConfiguration);
  touch("after a launch that failed");
  EXPECT_EQ(array.host(), std::vector<float>(4, 2.0f));
  float* freed = nullptr;
  ASSERT_EQ(cudaMalloc(&freed, 4), cudaSuccess);
  ASSERT_EQ(cudaFree(freed), cudaSuccess);
  EXPECT_DEATH(static_cast<void>(*static_cast<volatile float*>(freed)),
               "the host reads" + advice + "|AddressSanitizer: use-after-poison");
}

#ifdef __SANITIZE_ADDRESS__
TEST_F(Errors, AddressSanitizerSeesWhatLiesBehindTheGuardZones) {
  const DeviceVector<float> array(10), next(10);
  emulator::set_workers(1);
  for (const int index : {128, -65, 4000})  // an allocation ends at a multiple of 256 bytes
    EXPECT_DEATH((write_at<<<1, 1>>>(array.data(), index)), "use-after-poison");
}
#endif

TEST_F(Errors, ALibraryMayLeaveDeviceMemoryOpen) {
  const DeviceVector<float> array(std::vector<float>(4, 1.0f));
  const auto left_open = [&] {
    emulator::leave_device_memory_open();
    array.data()[1] += 1.0f;
    const DeviceVector<float> more(std::vector<float>(1 << 25, 1.0f));
    add_one<<<1, 1>>>(array.data(), array.data(), 4);
    std::_Exit(static_cast<int>(array.data()[1] + more.data()[(1 << 25) - 1]));
  };
  EXPECT_EXIT(left_open(), testing::ExitedWithCode(4), "");
}

// One thread's launch has ended while another's continues.
TEST_F(Errors, ThreadsShareTheOpenMemory) {
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([] {
      const DeviceVector<float> array(std::vector<float>(4));
      for (int round = 0; round < 300; ++round) {
        add_one<<<2, 1>>>(array.data(), array.data(), round % 2);
        if (round % 10 == 0) {
          EXPECT_EQ(array.host()[1], 0.0f);
        }
      }
    });
  }
  for (std::thread& each : threads)
    each.join();
  EXPECT_EQ(cudaGetLastError(), cudaSuccess);
}

__global__ void launches_a_kernel() {
  nothing<<<1, 1>>>();
}

TEST_F(Errors, KernelsLaunchNoKernels) {
  launches_a_kernel<<<1, 1>>>();
  expect_report(cudaErrorNotSupported, {"a kernel launched by a kernel"});
}

}  // namespace
