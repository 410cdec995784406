// A stream's work is done when the host waits for it. The schedule decides about other streams.
#include <cuda_runtime.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "device_vector.hpp"
#include "emulator/emulator.hpp"

namespace {

class Streams : public testing::Test {
 protected:
  void SetUp() override {
    emulator::reset();
    ASSERT_EQ(cudaStreamCreate(&copies), cudaSuccess);
    ASSERT_EQ(cudaStreamCreate(&kernels), cudaSuccess);
    ASSERT_EQ(cudaEventCreate(&event), cudaSuccess);
    ASSERT_EQ(cudaMallocHost(&host, sizeof(int)), cudaSuccess);
    *host = 5;
  }
  void TearDown() override {
    cudaStreamDestroy(copies);
    cudaStreamDestroy(kernels);
    cudaEventDestroy(event);
    cudaFreeHost(host);
    emulator::reset();
  }
  void copy_in(int* to) const {
    EXPECT_EQ(cudaMemcpyAsync(to, host, sizeof(int), cudaMemcpyHostToDevice, copies), cudaSuccess);
  }

  cudaStream_t copies{}, kernels{};
  cudaEvent_t event{};
  int* host = nullptr;
};

__global__ void add_one(int* to, const int* from) {
  *to = *from + 1;
}
__global__ void fail() {
  __trap();
}

TEST_F(Streams, WorkWaitsUntilItsStreamIsWaitedFor) {
  DeviceVector<int> x(std::vector<int>{1});
  copy_in(x.data());
  EXPECT_EQ(x.host()[0], 1);
  EXPECT_EQ(emulator::stream_log(), "");
  EXPECT_EQ(cudaStreamSynchronize(kernels), cudaSuccess);
  EXPECT_EQ(x.host()[0], 1);
  EXPECT_EQ(cudaStreamSynchronize(copies), cudaSuccess);
  EXPECT_EQ(x.host()[0], 5);
  EXPECT_EQ(emulator::stream_log(), "c");
}

TEST_F(Streams, AResetForgetsTheLastLaunch) {
  DeviceVector<int> x(std::vector<int>{1});
  add_one<<<1, 1>>>(x.data(), x.data());
  EXPECT_EQ(emulator::last_launch().kernel, "add_one");
  emulator::reset();
  EXPECT_EQ(emulator::last_launch().kernel, "");
}

// Like a launcher's scratch memory, freed before any work in the stream is done.
TEST_F(Streams, MemoryIsFreedInItsStreamsOrder) {
  DeviceVector<int> y(std::vector<int>{2});
  int* x = nullptr;
  ASSERT_EQ(cudaMallocAsync(reinterpret_cast<void**>(&x), sizeof(int), kernels), cudaSuccess);
  EXPECT_EQ(cudaMemsetAsync(x, 0, sizeof(int), kernels), cudaSuccess);
  add_one<<<1, 1, 0, kernels>>>(y.data(), x);
  EXPECT_EQ(cudaFreeAsync(x, kernels), cudaSuccess);
  DeviceVector<int> z(std::vector<int>{7});
  EXPECT_EQ(cudaStreamSynchronize(kernels), cudaSuccess);
  EXPECT_EQ(y.host()[0], 1);
  EXPECT_EQ(z.host()[0], 7);
  EXPECT_EQ(emulator::stream_log(), "fk");
  EXPECT_EQ(cudaFreeAsync(x, kernels), cudaErrorInvalidValue);
  cudaGetLastError();
}

TEST_F(Streams, TheDeviceIsAllStreams) {
  DeviceVector<int> x(std::vector<int>{1}), y(std::vector<int>{2});
  copy_in(x.data());
  add_one<<<1, 1, 0, kernels>>>(y.data(), y.data());
  EXPECT_EQ(cudaStreamDestroy(kernels), cudaSuccess);  // its work is still done
  EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  EXPECT_EQ(x.host()[0], 5);
  EXPECT_EQ(y.host()[0], 3);
  ASSERT_EQ(cudaStreamCreate(&kernels), cudaSuccess);
}

// A kernel that should wait for a copy is right only in one order, which is not guaranteed.
TEST_F(Streams, AMissingWaitIsWrongInOneOrder) {
  for (const bool waits : {true, false}) {
    for (const auto order : {emulator::Schedule::forward, emulator::Schedule::reverse}) {
      emulator::set_schedule({order});
      DeviceVector<int> x(std::vector<int>{1}), y(1);
      copy_in(x.data());
      EXPECT_EQ(cudaEventRecord(event, copies), cudaSuccess);
      if (waits) EXPECT_EQ(cudaStreamWaitEvent(kernels, event), cudaSuccess);
      add_one<<<1, 1, 0, kernels>>>(y.data(), x.data());
      EXPECT_EQ(cudaStreamSynchronize(kernels), cudaSuccess);
      EXPECT_EQ(y.host()[0], waits || order == emulator::Schedule::reverse ? 6 : 2);
      EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
    }
  }
}

TEST_F(Streams, AnEventIsThePlaceWhereItWasRecordedLast) {
  DeviceVector<int> x(std::vector<int>{1}), y(1);
  EXPECT_EQ(cudaStreamWaitEvent(kernels, event), cudaSuccess) << "never recorded: no wait";
  copy_in(x.data());
  EXPECT_EQ(cudaEventRecord(event, copies), cudaSuccess);
  EXPECT_EQ(cudaStreamWaitEvent(kernels, event), cudaSuccess);
  copy_in(x.data());
  EXPECT_EQ(cudaEventRecord(event, copies), cudaSuccess);
  add_one<<<1, 1, 0, kernels>>>(y.data(), x.data());
  EXPECT_EQ(cudaStreamSynchronize(kernels), cudaSuccess);
  EXPECT_EQ(emulator::stream_log(), "cewk");  // the second copy was not waited for
  EXPECT_EQ(cudaEventSynchronize(event), cudaSuccess);
  EXPECT_EQ(emulator::stream_log(), "cewkce");
}

TEST_F(Streams, AShuffledOrderIsOneOfThose) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    emulator::set_schedule({emulator::Schedule::shuffle, seed});
    DeviceVector<int> x(std::vector<int>{1}), y(1);
    copy_in(x.data());
    EXPECT_EQ(cudaEventRecord(event, copies), cudaSuccess);
    EXPECT_EQ(cudaStreamWaitEvent(kernels, event), cudaSuccess);
    add_one<<<1, 1, 0, kernels>>>(y.data(), x.data());
    copy_in(x.data());
    EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
    EXPECT_EQ(y.host()[0], 6);
  }
}

TEST_F(Streams, ATimeIsKnownWhenItsEventsAreReached) {
  DeviceVector<int> x(std::vector<int>{1});
  cudaEvent_t end{};
  ASSERT_EQ(cudaEventCreate(&end), cudaSuccess);
  float milliseconds = -1;
  EXPECT_EQ(cudaEventRecord(event, kernels), cudaSuccess);  // reached at once in an idle stream
  add_one<<<1, 1, 0, kernels>>>(x.data(), x.data());
  EXPECT_EQ(cudaEventRecord(end, kernels), cudaSuccess);
  EXPECT_EQ(cudaEventElapsedTime(&milliseconds, event, end), cudaErrorNotReady);
  EXPECT_EQ(cudaEventQuery(end), cudaSuccess);
  EXPECT_EQ(cudaEventElapsedTime(&milliseconds, event, end), cudaSuccess);
  EXPECT_GT(milliseconds, 0.0f);
  EXPECT_EQ(cudaEventDestroy(end), cudaSuccess);
}

TEST_F(Streams, MemoryOfTheHostThatIsNotPinnedIsCopiedAtOnce) {
  DeviceVector<int> x(std::vector<int>{1});
  add_one<<<1, 1, 0, copies>>>(x.data(), x.data());
  int here = 0;
  EXPECT_EQ(cudaMemcpyAsync(&here, x.data(), sizeof here, cudaMemcpyDeviceToHost, copies),
            cudaSuccess);
  EXPECT_EQ(here, 2);
}

TEST_F(Streams, ErrorsOfALaunchAreToldAtOnceAndThoseOfAKernelWhenItRan) {
  add_one<<<0, 1, 0, kernels>>>(nullptr, nullptr);
  EXPECT_EQ(cudaGetLastError(), cudaErrorInvalidConfiguration);
  fail<<<1, 1, 0, kernels>>>();
  EXPECT_EQ(cudaGetLastError(), cudaSuccess);
  EXPECT_EQ(cudaStreamSynchronize(kernels), cudaErrorLaunchFailure);
  add_one<<<1, 1, 0, reinterpret_cast<cudaStream_t>(&event)>>>(nullptr, nullptr);
  EXPECT_EQ(cudaGetLastError(), cudaErrorInvalidResourceHandle);
}

}  // namespace
