// Tests the X-ray of asynchronous copies: known counts, and every access to bytes in flight.
#include <cuda_bf16.h>
#include <cuda_pipeline.h>
#include <cuda_runtime.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "common/emulator/test/device_vector.hpp"
#include "common/emulator/test/portable_kernels.hpp"
#include "common/xray/test/recorded.hpp"

namespace {

using namespace emulator::xray;
using emulator::Schedule;

class XrayPipeline : public RecordedTest {};

TEST_F(XrayPipeline, CountsAreAsKnownByHand) {
  constexpr int kTiles = 5;
  const DeviceVector<float> in(std::vector<float>(kTiles * portable_kernels::kTile, 1.0f));
  for (const Schedule& schedule : kSchedules) {
    emulator::set_schedule(schedule);
    const DeviceVector<float> out(portable_kernels::kTile);
    emulator::name_memory({in.data(), kTiles * portable_kernels::kTile * 4, "in", 4, true});
    portable_kernels::sum_tiles(out.data(), in.data(), kTiles);
    const Kernel kernel = only();
    for (const Error& error : kernel.errors)
      ADD_FAILURE() << error.message;
    // One warp: 32 copies of 16 bytes are one request for 16 sectors.
    EXPECT_EQ(kernel[kAsyncCopies], 32u * kTiles);
    EXPECT_EQ(kernel[kGlobalLoadRequests], 1u * kTiles);
    EXPECT_EQ(kernel[kGlobalLoadSectors], 16u * kTiles);
    EXPECT_EQ(kernel[kGlobalLoadBytesAsked], 512u * kTiles);
    EXPECT_EQ(kernel[kGlobalLoadBytesMoved], 512u * kTiles);
    EXPECT_EQ(kernel[kSharedStoreRequests], 0u);
    EXPECT_EQ(kernel[kSharedStoreWavefronts], 0u);
    EXPECT_EQ(kernel[kSharedLoadRequests], 4u * kTiles);
    EXPECT_EQ(kernel[kSharedLoadWavefronts], 4u * kTiles);
    EXPECT_EQ(kernel[kBarriers], 2u * kTiles);
    EXPECT_EQ(kernel[kAsyncCopiesAtOnce], 32u);
    EXPECT_EQ(kernel[kAsyncCopiesBeforeBarrier], 32u) << "those of the first tile";
    EXPECT_EQ(kernel.copies_to_used_places, 32u * (kTiles - 2)) << "there are two places";
    EXPECT_EQ(kernel.buffer("in").loads().requests, 1u * kTiles);
    EXPECT_EQ(kernel.buffer("in").loads().accesses_per_element.most, 1u);
  }
}

// 4-byte words, of which the last 8 are zeros that are not read from `in`.
__global__ void ends_in_zeros(float* out, const float* in) {
  __shared__ float words[32];
  const int i = static_cast<int>(threadIdx.x);
  __pipeline_memcpy_async(&words[i], in + (i < 24 ? i : 0), 4, i < 24 ? 0 : 4);
  __pipeline_commit();
  __pipeline_wait_prior(0);
  out[i] = words[i];
}

__global__ void half_of_it_zeros(float* out, const float* in) {
  __shared__ __align__(8) float words[2];
  __pipeline_memcpy_async(words, in, 8, 4);
  __pipeline_commit();
  __pipeline_wait_prior(0);
  out[0] = words[0] + words[1];
}

TEST_F(XrayPipeline, ZerosAreNotRead) {
  const DeviceVector<float> in(std::vector<float>(24, 1.0f)), out(32);
  ends_in_zeros<<<1, 32>>>(out.data(), in.data());
  Kernel kernel = only();
  EXPECT_TRUE(kernel.errors.empty());
  EXPECT_EQ(kernel[kAsyncCopies], 32u);
  EXPECT_EQ(kernel[kGlobalLoadRequests], 1u);
  EXPECT_EQ(kernel[kGlobalLoadSectors], 3u);
  EXPECT_EQ(kernel[kGlobalLoadBytesAsked], 96u);
  emulator::name_memory({in.data(), 4, "one", 4, true});
  half_of_it_zeros<<<1, 1>>>(out.data(), in.data());
  kernel = only();
  EXPECT_TRUE(kernel.errors.empty());
  EXPECT_EQ(kernel[kGlobalLoadBytesAsked], 4u);
}

enum Meanwhile { kNothing, kAnotherCopy, kAnAccess, kNoWaitAtAll };

constexpr int kCopiesAnd = __LINE__;
__global__ void copies_and(Meanwhile meanwhile, float* out, const float* in) {
  __shared__ float words[64];
  const int i = static_cast<int>(threadIdx.x);
  __pipeline_memcpy_async(&words[i], in + i, 4);
  __pipeline_commit();
  if (meanwhile == kAnotherCopy) __pipeline_memcpy_async(&words[32 + i], in + i, 4);
  if (meanwhile == kAnAccess) out[i] = in[i];
  if (meanwhile != kNoWaitAtAll) __pipeline_wait_prior(0);
}

TEST_F(XrayPipeline, CopiesThatAreWaitedForAtOnceHaveALine) {
  const DeviceVector<float> in(std::vector<float>(32, 1.0f)), out(32);
  for (const auto& [meanwhile, at_once] : {std::pair(kNothing, 32u), std::pair(kAnotherCopy, 32u),
                                           std::pair(kAnAccess, 0u), std::pair(kNoWaitAtAll, 0u)}) {
    copies_and<<<1, 32>>>(meanwhile, out.data(), in.data());
    const Kernel kernel = only();
    EXPECT_EQ(kernel[kAsyncCopiesAtOnce], at_once) << meanwhile;
    ASSERT_EQ(kernel.waits.size(), at_once == 0 ? 0u : 1u) << meanwhile;
    for (const Wait& wait : kernel.waits) {
      EXPECT_EQ(wait.at_once, 32u);
      EXPECT_EQ(wait.where.file, "common/xray/test/xray_pipeline_test.cu");
      EXPECT_EQ(wait.where.line, kCopiesAnd + 8);
    }
  }
}

enum How {
  kRight,
  kNoBarrierAfterWait,
  kBarrierButNoWait,
  kOwnReadBeforeWait,
  kOwnStoreBeforeWait,
  kReadBeforeIssue,
  kTwoCopiesToOnePlace,
  kTwoThreadsToOnePlace,
  kWaitsForOlderOnly,
};

int copy_line = 0;
__global__ void exchanges(float* out, const float* in, How how) {
  __shared__ float words[64];
  const int i = static_cast<int>(threadIdx.x);
  float early = 0.0f;
  words[i] = 0.0f;
  __syncthreads();
  if (how == kReadBeforeIssue) early = words[63 - i];
  const int to = how == kTwoThreadsToOnePlace ? i / 2 : i;
  copy_line = __LINE__ + 1;
  __pipeline_memcpy_async(&words[to], in + i, 4);
  if (how == kTwoCopiesToOnePlace) __pipeline_memcpy_async(&words[i], in + i, 4);
  __pipeline_commit();
  if (how == kOwnReadBeforeWait) early = words[i];
  if (how == kOwnStoreBeforeWait) words[i] = 0.0f;
  if (how == kWaitsForOlderOnly) __pipeline_wait_prior(1);
  if (how != kBarrierButNoWait && how != kWaitsForOlderOnly) __pipeline_wait_prior(0);
  if (how != kNoBarrierAfterWait) __syncthreads();
  out[i] = words[63 - i] + early;
}

TEST_F(XrayPipeline, FindsEveryAccessOnTheWayUnderEverySchedule) {
  const std::string copy = "asynchronous copy at common/xray/test/xray_pipeline_test.cu:";
  const DeviceVector<float> in(std::vector<float>(64, 1.0f)), out(64);
  for (const Schedule& schedule : kSchedules) {
    emulator::set_schedule(schedule);
    for (const How how :
         {kRight, kNoBarrierAfterWait, kBarrierButNoWait, kOwnReadBeforeWait, kOwnStoreBeforeWait,
          kReadBeforeIssue, kTwoCopiesToOnePlace, kTwoThreadsToOnePlace, kWaitsForOlderOnly}) {
      exchanges<<<1, 64>>>(out.data(), in.data(), how);
      const Kernel kernel = only();
      EXPECT_EQ(kernel.errors.empty(), how == kRight) << how;
      bool names_the_copy = false;
      for (const Error& error : kernel.errors) {
        EXPECT_EQ(error.kind, "race") << error.message;
        EXPECT_EQ(error.space, Space::kShared);
        names_the_copy |= error.message.find(copy + std::to_string(copy_line)) != std::string::npos;
        if (how == kTwoThreadsToOnePlace) {
          EXPECT_NE(error.message.find(": should each thread copy to a place of its own?"),
                    std::string::npos)
              << error.message;
        }
        // The wait covers too few groups.
        if (how == kWaitsForOlderOnly) {
          EXPECT_NE(error.message.find("with a small enough number"), std::string::npos)
              << error.message;
        }
      }
      EXPECT_EQ(names_the_copy, how != kRight) << how;
    }
  }
}

// Each thread reads its neighbour's copy and issues the next one, too early if before the barrier.
__global__ void asks_early(float* out, const float* in, bool early) {
  __shared__ float words[64];
  const int i = static_cast<int>(threadIdx.x);
  const auto fetch = [&] {
    __pipeline_memcpy_async(&words[i], in + i, 4);
    __pipeline_commit();
  };
  fetch();
  for (int round = 0; round < 3; ++round) {
    __pipeline_wait_prior(0);
    __syncthreads();
    out[i] = words[63 - i];
    if (early) fetch();
    __syncthreads();
    if (!early) fetch();
  }
  __pipeline_wait_prior(0);
}

TEST_F(XrayPipeline, ACopyOverWhatIsStillReadIsAskedForTooEarly) {
  const DeviceVector<float> in(std::vector<float>(64, 1.0f)), out(64);
  for (const Schedule& schedule : kSchedules) {
    emulator::set_schedule(schedule);
    asks_early<<<1, 64>>>(out.data(), in.data(), false);
    EXPECT_TRUE(only().errors.empty());
    asks_early<<<1, 64>>>(out.data(), in.data(), true);
    unsigned early = 0;
    const Kernel kernel = only();
    for (const Error& error : kernel.errors) {
      early += error.message.find(
                   ": the copy is asked for before the barrier that ends these "
                   "reads") != std::string::npos;
      EXPECT_EQ(error.message.find("__pipeline_wait_prior"), std::string::npos) << error.message;
    }
    EXPECT_GT(early, 0u);
  }
}

// Thread 0 copies and a neighbour reads. A barrier before the wait orders nothing.
__global__ void waits_behind_a_barrier(float* out, const float* in, bool whole_block, bool again) {
  __shared__ float word;
  if (threadIdx.x == 0) __pipeline_memcpy_async(&word, in, 4);
  __pipeline_commit();
  whole_block ? __syncthreads() : __syncwarp();
  __pipeline_wait_prior(0);
  if (again) __syncwarp();
  if (threadIdx.x == 1) out[0] = word;
}

TEST_F(XrayPipeline, OnlyWhatFollowsTheWaitOrders) {
  const DeviceVector<float> in(std::vector<float>{1.0f}), out(1);
  for (const Schedule& schedule : kSchedules) {
    emulator::set_schedule(schedule);
    for (const bool whole_block : {true, false}) {
      for (const bool again : {true, false}) {
        waits_behind_a_barrier<<<1, 32>>>(out.data(), in.data(), whole_block, again);
        const Kernel kernel = only();
        ASSERT_EQ(kernel.errors.size(), again ? 0u : 1u) << whole_block;
        if (!again) {
          EXPECT_EQ(kernel.errors[0].kind, "race");
        }
      }
    }
  }
}

__global__ void copies_one(float* out, const float* in, int to, int from) {
  __shared__ float words[32];
  __pipeline_memcpy_async(words + to, in + from, 4);
  __pipeline_commit();
  __pipeline_wait_prior(0);
  out[0] = words[0];
}

TEST_F(XrayPipeline, FindsWhatIsWrongAtEitherEnd) {
  const DeviceVector<float> in(std::vector<float>(10, 1.0f)), out(1), unwritten(10);
  emulator::name_memory({in.data(), 40, "in", 4, true});
  copies_one<<<1, 1>>>(out.data(), in.data(), 0, 9);
  EXPECT_TRUE(only().errors.empty());

  copies_one<<<1, 1>>>(out.data(), in.data(), 0, 10);
  EXPECT_EQ(cudaPeekAtLastError(), cudaErrorIllegalAddress);
  Kernel kernel = only();
  ASSERT_EQ(kernel.errors.size(), 1u);
  EXPECT_EQ(kernel.errors[0].kind, "out of bounds");
  EXPECT_EQ(kernel.errors[0].buffer, "in");
  EXPECT_EQ(kernel.errors[0].offset, 40);

  copies_one<<<1, 1>>>(out.data(), in.data(), 32, 0);
  EXPECT_EQ(cudaPeekAtLastError(), cudaErrorIllegalAddress);
  kernel = only();
  ASSERT_EQ(kernel.errors.size(), 1u);
  EXPECT_EQ(kernel.errors[0].kind, "out of bounds");
  EXPECT_EQ(kernel.errors[0].space, Space::kShared);
  EXPECT_EQ(kernel.errors[0].offset, 128);
  EXPECT_NE(kernel.errors[0].message.find("asynchronous copy"), std::string::npos);

  copies_one<<<1, 1>>>(out.data(), unwritten.data(), 0, 3);
  kernel = only();
  ASSERT_EQ(kernel.errors.size(), 1u);
  EXPECT_EQ(kernel.errors[0].kind, "uninitialised read");
  EXPECT_EQ(kernel.errors[0].offset, 12);

  copies_one<<<1, 1>>>(out.data(), in.data(), 1, 0);
  kernel = only();
  ASSERT_EQ(kernel.errors.size(), 1u);
  EXPECT_EQ(kernel.errors[0].kind, "uninitialised read");
  EXPECT_EQ(kernel.errors[0].space, Space::kShared);
}

__global__ void copies_pairs(__nv_bfloat162* out, const __nv_bfloat162* in) {
  out[threadIdx.x] = in[threadIdx.x];
}

TEST_F(XrayPipeline, APairOfBfloat16IsOneAccess) {
  const DeviceVector<float> memory(std::vector<float>(64, 1.0f));
  copies_pairs<<<1, 32>>>(reinterpret_cast<__nv_bfloat162*>(memory.data()),
                          reinterpret_cast<const __nv_bfloat162*>(memory.data() + 32));
  const Kernel kernel = only();
  EXPECT_EQ(kernel[kGlobalLoadRequests], 1u);
  EXPECT_EQ(kernel[kGlobalLoadBytesAsked], 128u);
  EXPECT_EQ(kernel[kGlobalStoreRequests], 1u);
}

}  // namespace
