// Asynchronous copies arrive at the wait or, in a shuffle, at once. Misuse is reported.
#include <cuda_pipeline.h>
#include <cuda_runtime.h>
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <string>
#include <vector>

#include "after_reset.hpp"
#include "device_vector.hpp"
#include "portable_kernels.hpp"

namespace {

using emulator::Schedule;

class Pipeline : public AfterReset {};

// The word before and after the commit, after a wait for older groups, and after its own wait.
__global__ void looks_at_every_step(float* out, const float* in) {
  __shared__ float word;
  word = -1.0f;
  __pipeline_memcpy_async(&word, in, 4);
  out[0] = word;
  __pipeline_wait_prior(0);  // not committed, so in no group
  out[1] = word;
  __pipeline_commit();
  out[2] = word;
  __pipeline_wait_prior(1);
  out[3] = word;
  __pipeline_wait_prior(0);
  out[4] = word;
}

TEST_F(Pipeline, BytesArriveAtTheWaitForTheirGroup) {
  const DeviceVector<float> in(std::vector<float>{7.0f}), out(5);
  looks_at_every_step<<<1, 1>>>(out.data(), in.data());
  EXPECT_EQ(out.host(), (std::vector<float>{-1.0f, -1.0f, -1.0f, -1.0f, 7.0f}));
}

TEST_F(Pipeline, BytesArriveAtOnceWhereThreadsAreShuffled) {
  emulator::set_schedule({Schedule::shuffle, 1});
  const DeviceVector<float> in(std::vector<float>{7.0f}), out(5);
  looks_at_every_step<<<1, 1>>>(out.data(), in.data());
  EXPECT_EQ(out.host(), std::vector<float>(5, 7.0f));
}

__global__ void three_groups(float* out, const float* in) {
  __shared__ float words[4];
  for (int i = 0; i < 4; ++i)
    words[i] = 0.0f;
  __pipeline_memcpy_async(&words[0], in, 4);
  __pipeline_memcpy_async(&words[1], in + 1, 4);
  __pipeline_commit();
  __pipeline_commit();  // empty
  __pipeline_memcpy_async(&words[2], in + 2, 4);
  __pipeline_commit();
  __pipeline_memcpy_async(&words[3], in + 3, 4);
  for (int prior = 3; prior >= 0; --prior) {
    __pipeline_wait_prior(static_cast<unsigned>(prior));
    out[3 - prior] = words[0] + words[1] + words[2] + words[3];
  }
}

TEST_F(Pipeline, WaitPriorLeavesOutTheNewestGroups) {
  const DeviceVector<float> in(std::vector<float>{1.0f, 10.0f, 100.0f, 1000.0f}), out(4);
  three_groups<<<1, 1>>>(out.data(), in.data());
  EXPECT_EQ(out.host(), (std::vector<float>{0.0f, 11.0f, 11.0f, 111.0f}));
}

TEST_F(Pipeline, TwoStagesInFlightUnderEverySchedule) {
  constexpr int kTiles = 5;
  std::vector<float> numbers(kTiles * portable_kernels::kTile);
  std::iota(numbers.begin(), numbers.end(), 0.0f);
  std::vector<float> expected(portable_kernels::kTile);
  for (std::size_t i = 0; i < numbers.size(); ++i)
    expected[i % portable_kernels::kTile] += numbers[i];
  const DeviceVector<float> in(numbers);
  for (const Schedule& schedule : {Schedule{Schedule::forward, 0}, Schedule{Schedule::reverse, 0},
                                   Schedule{Schedule::shuffle, 1}}) {
    emulator::set_schedule(schedule);
    const DeviceVector<float> out(portable_kernels::kTile);
    portable_kernels::sum_tiles(out.data(), in.data(), kTiles);
    EXPECT_EQ(out.host(), expected);
  }
}

__global__ void zero_filled(unsigned* out, const unsigned* in) {
  __shared__ __align__(16) unsigned words[32][4];
  const unsigned zeros = threadIdx.x % 17;
  __pipeline_memcpy_async(words[threadIdx.x], zeros == 16 ? nullptr : in, 16, zeros);
  __pipeline_commit();
  __pipeline_wait_prior(0);
  for (int i = 0; i < 4; ++i)
    out[threadIdx.x * 4 + i] = words[threadIdx.x][i];
}

TEST_F(Pipeline, TheLastBytesAreZerosAndNotRead) {
  const DeviceVector<unsigned> in(std::vector<unsigned>(4, 0x01010101u)), out(128);
  zero_filled<<<1, 32>>>(out.data(), in.data());
  const std::vector<unsigned> words = out.host();
  for (unsigned thread = 0; thread < 32; ++thread) {
    for (unsigned byte = 0; byte < 16; ++byte) {
      EXPECT_EQ(words[thread * 4 + byte / 4] >> byte % 4 * 8 & 0xff, byte < 16 - thread % 17)
          << thread << " " << byte;
    }
  }
}

__global__ void returns_without_waiting(float* out, const float* in) {
  __shared__ float words[32];
  words[threadIdx.x] = -1.0f;
  if (threadIdx.x > 0) {
    __pipeline_memcpy_async(&words[threadIdx.x], in + threadIdx.x, 4);
    return;
  }
  for (int i = 0; i < 32; ++i)
    out[i] = words[i];
}

TEST_F(Pipeline, WhatIsPendingArrivesWhenTheThreadReturns) {
  emulator::set_schedule({Schedule::reverse, 0});
  const DeviceVector<float> in(std::vector<float>(32, 7.0f)), out(32);
  returns_without_waiting<<<1, 32>>>(out.data(), in.data());
  std::vector<float> expected(32, 7.0f);
  expected[0] = -1.0f;
  EXPECT_EQ(out.host(), expected);
}

__global__ void traps_with_a_copy_pending(float* out, const float* in, bool trap) {
  __shared__ float word;
  word = -1.0f;
  if (trap) {
    __pipeline_memcpy_async(&word, in, 4);
    __pipeline_commit();
    __trap();
  }
  __pipeline_wait_prior(0);
  out[0] = word;
}

TEST_F(Pipeline, AnAbandonedBlockLeavesNothingBehind) {
  emulator::set_workers(1);
  const DeviceVector<float> in(std::vector<float>{7.0f}), out(1);
  traps_with_a_copy_pending<<<1, 1>>>(out.data(), in.data(), true);
  EXPECT_EQ(cudaGetLastError(), cudaErrorLaunchFailure);
  traps_with_a_copy_pending<<<1, 1>>>(out.data(), in.data(), false);
  EXPECT_EQ(out.host()[0], -1.0f);
}

struct Misuse {
  int to, from, size, zeros;
  bool to_global, from_shared;
};

int copy_line = 0;
__global__ void misuses(float* global, Misuse how) {
  __shared__ __align__(16) float words[32];
  __shared__ __align__(16) float others[32];
  if (blockIdx.x != 1 || threadIdx.x != 3) return;
  char* const to = reinterpret_cast<char*>(how.to_global ? global : words) + how.to;
  const char* const from = reinterpret_cast<const char*>(how.from_shared ? others : global);
  copy_line = __LINE__ + 1;
  __pipeline_memcpy_async(to, from + how.from, how.size, how.zeros);
}

TEST_F(Pipeline, MisuseIsReported) {
  const DeviceVector<float> global(std::vector<float>(64, 1.0f));
  const auto report = [&](const Misuse& how) {
    misuses<<<2, 32>>>(global.data(), how);
    const cudaError_t error = cudaGetLastError();
    const std::string text = cudaGetErrorString(error);
    if (error == cudaSuccess) return std::string("no error");
    EXPECT_EQ(error, cudaErrorLaunchFailure);
    for (const std::string& part :
         {"pipeline_test.cu:" + std::to_string(copy_line), std::string("kernel misuses"),
          std::string("block (1, 0, 0)"), std::string("thread (3, 0, 0)")}) {
      EXPECT_NE(text.find(part), std::string::npos) << text;
    }
    return text;
  };
  const auto expect = [&](const Misuse& how, const char* words) {
    EXPECT_NE(report(how).find(words), std::string::npos) << words;
  };
  expect({0, 0, 16, 0, false, false}, "no error");
  expect({16, 32, 16, 16, false, false}, "no error");
  expect({4, 8, 4, 0, false, false}, "no error");
  expect({0, 0, 12, 0, false, false}, "the size must be 4, 8 or 16 bytes");
  expect({0, 0, 0, 0, false, false}, "the size must be 4, 8 or 16 bytes");
  expect({0, 0, 4, 5, false, false}, "zfill is above the size");
  expect({8, 0, 16, 0, false, false}, "the destination is not aligned");
  expect({0, 4, 8, 0, false, false}, "the source is not aligned");
  expect({0, 0, 16, 0, true, false}, "the destination is not in the block's shared memory");
  expect({0, 0, 16, 0, false, true}, "the source is not in global memory");
  expect({0, 0, 16, 16, false, true}, "no error");  // the source is not read
}

}  // namespace
