#include "common/testing/xray.hpp"

#include <cuda_runtime.h>
#include <gtest/gtest.h>

#include "00_warmup/07_when_it_is_wrong/block_running_sum.hpp"
#include "common/cuda/check.hpp"

namespace warmup {
namespace {

using namespace emulator::xray;

constexpr std::uint64_t kSteps = 7;
// Three blocks.
const bool registered = ladder::testing::register_budget(
    "block_running_sum", "block_running_sum",
    {.loads = 1, .stores = 1, .atomics = 0, .counts = {{kBarriers, 1 + 2 * kSteps, "block", 3}}},
    {{"N", 300}});

Kernel kernel_of(const ladder::Shape& shape) {
  return ladder::testing::xray_of("block_running_sum", "block_running_sum", shape);
}

// The README's table has 16 blocks of four warps.
constexpr std::uint64_t kBlocks = 16, kWarps = 4 * kBlocks;

TEST(BlockRunningSum, WaitsTwiceAStep) {
  const Kernel kernel = kernel_of({{"N", 128 * kBlocks}});
  EXPECT_EQ(kernel[kBarriers], (1 + 2 * kSteps) * kBlocks);
  EXPECT_EQ(kernel[kGlobalLoadRequests], kWarps);
  EXPECT_EQ(kernel[kGlobalStoreRequests], kWarps);
  // In a step each warp reads its own sums. Earlier sums are read only by warps with threads
  // that have one, which are 4, 4, 4, 4, 4, 3 and 2.
  EXPECT_EQ(kernel[kSharedLoadRequests], (kSteps * 4 + 25 + 4) * kBlocks);
  EXPECT_EQ(kernel[kSharedStoreRequests], (1 + kSteps) * kWarps);
  EXPECT_EQ(kernel[kSharedLoadBankConflicts], 0u);
  EXPECT_TRUE(kernel.errors.empty());
}

// In the emulator only, because on a GPU no later call of the process would succeed.
TEST(WatchRunningSum, StopsInTheChosenThread) {
  float *x = nullptr, *y = nullptr;
  ASSERT_EQ(cudaMalloc(&x, 300 * sizeof(float)), cudaSuccess);
  ASSERT_EQ(cudaMalloc(&y, 300 * sizeof(float)), cudaSuccess);
  ASSERT_EQ(cudaMemset(x, 0, 300 * sizeof(float)), cudaSuccess);
  BlockRunningSumArgs args;
  args.N = 300, args.x = x, args.y = y;
  try {
    watch_running_sum(args, "=2", "=5", true);
    ADD_FAILURE() << "nothing stopped";
  } catch (const ladder::CudaError& error) {
    const std::string said = error.what();
    for (const char* part : {"cudaErrorLaunchFailure", "__trap()", "07_when_it_is_wrong/kernel.cu",
                             "block (2, 0, 0)", "thread (5, 0, 0)"})
      EXPECT_NE(said.find(part), std::string::npos) << part << " is not in: " << said;
  }
  EXPECT_EQ(cudaGetLastError(), cudaSuccess) << "told once: the emulator's errors are not sticky";
  cudaFree(x);
  cudaFree(y);
}

}  // namespace
}  // namespace warmup
