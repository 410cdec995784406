#include <cuda_runtime.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "common/cuda/check.hpp"
#include "common/operators/wkv/operator.hpp"
#include "common/testing/hole.hpp"
#include "common/testing/suite.hpp"
#include "common/testing/tests.hpp"

#ifdef EMULATOR_LAUNCH
#include "emulator/emulator.hpp"
#endif

using ladder::find_implementation;
using ladder::WkvArgs;
using ladder::WkvCase;

namespace {

void expect_right(const WkvCase& c) {
  ladder::testing::expect_right(find_implementation("wkv_atomic"), make_problem(c));
}

// Launches the kernel on that case. Another test judges the result.
void launch(const WkvCase& c) {
  const ladder::Implementation implementation = find_implementation("wkv_atomic");
  const auto problem = make_problem(c);
  ladder::OnDevice<ladder::Wkv, WkvArgs> on_device(ladder::device(implementation.device), problem);
  ladder::launch<ladder::Wkv>(implementation, on_device.args());
  ladder::device(implementation.device).synchronize();
}

// One step, so that the state does not matter. The numbers of columns, heads and batches are
// pairwise different.
KERNEL_TEST(wkv_atomic, Hole1FindsColumnHeadAndBatch) {
  expect_right({.B = 3, .T = 1, .H = 2, .K = 64, .V = 64});
}

// The arrays hold four batches, and the kernel gets one, which is 12 channels for 32 threads. The
// other threads would write to memory, too.
KERNEL_TEST(wkv_atomic, Hole2SendsThreadsWithoutAChannelAway) {
  const ladder::Implementation implementation = find_implementation("wkv_atomic");
  const auto problem = make_problem(WkvCase{.B = 4, .T = 1, .H = 3, .K = 4, .V = 4});
  ladder::OnDevice<ladder::Wkv, WkvArgs> on_device(ladder::device(implementation.device), problem);
  WkvArgs args = on_device.args();
  args.B = 1;
  std::vector<float> o(4 * 12);
  ASSERT_EQ(cudaMalloc(&args.o, o.size() * sizeof(float)), cudaSuccess);
  ASSERT_EQ(cudaMemset(args.o, 0, o.size() * sizeof(float)), cudaSuccess);
  ladder::launch<ladder::Wkv>(implementation, args);
  ASSERT_EQ(cudaMemcpy(o.data(), args.o, o.size() * sizeof(float), cudaMemcpyDeviceToHost),
            cudaSuccess);
  EXPECT_EQ(cudaFree(args.o), cudaSuccess);
  for (std::size_t i = 12; i < o.size(); ++i) {
    ASSERT_EQ(o[i], 0.0f) << "WRONG RESULT: there are 12 channels, and o[" << i
                          << "] was written: a thread without a channel has worked";
  }
}

KERNEL_TEST(wkv_atomic, Hole3ReadsTheStateBeforeItsStep) {
  expect_right({.B = 1, .T = 9, .H = 1, .K = 32, .V = 32});
}

#ifdef EMULATOR_LAUNCH  // only the emulator records the last launch
KERNEL_TEST(wkv_atomic, Hole4LaunchesAsManyBlocksAsAreNeeded) {
  for (const std::int64_t B : {2, 8, 9}) {  // 24, 96 and 108 channels
    const std::int64_t blocks = (B * 3 * 4 + 31) / 32;
    emulator::reset();
    launch({.B = B, .T = 1, .H = 3, .K = 4, .V = 4});
    EXPECT_EQ(emulator::last_launch().grid.x, blocks)
        << "WRONG RESULT: " << B * 3 * 4 << " channels and 32 threads in a block need " << blocks
        << " blocks; yours " << emulator::last_launch().grid.x;
  }
}
#endif

// If v is 0, every term is 0, and o keeps its earlier value of exactly 0.
KERNEL_TEST(wkv_atomic, Hole5ClearsTheOutputsOfAllSteps) {
  const WkvCase c{.B = 2, .T = 7, .H = 2, .K = 32, .V = 32};
  expect_right(c);
  const ladder::Implementation implementation = find_implementation("wkv_atomic");
  const auto problem = make_problem(c);
  ladder::OnDevice<ladder::Wkv, WkvArgs> on_device(ladder::device(implementation.device), problem);
  WkvArgs args = on_device.args();
  float* zeros = nullptr;
  const std::size_t bytes = problem["v"].size() * sizeof(float);
  ASSERT_EQ(cudaMalloc(&zeros, bytes), cudaSuccess);
  ASSERT_EQ(cudaMemset(zeros, 0, bytes), cudaSuccess);
  args.v = zeros;
  ladder::launch<ladder::Wkv>(implementation, args);
  const std::vector<float> o = on_device.download().o;
  EXPECT_EQ(cudaFree(zeros), cudaSuccess);
  for (const float x : o)
    ASSERT_EQ(x, 0.0f) << "WRONG RESULT: every term is 0, and o is not";
}

KERNEL_TEST(wkv_atomic, Hole6LaunchesTheKernelOfThisHeadSize) {
  for (const std::int64_t K : {4, 100, 128})
    expect_right({.B = 1, .T = 2, .H = 2, .K = K, .V = K});
}

// A launch that fails leaves its error for cudaGetLastError. No launch that the launcher accepts
// fails, so the test leaves another call's error there.
KERNEL_TEST(wkv_atomic, Hole7AsksForTheLaunchsError) {
  ladder::testing::injects_a_failure();
  launch({.B = 9, .T = 1, .H = 3, .K = 4, .V = 4});  // of 4 blocks
  ASSERT_NE(cudaSetDevice(-1), cudaSuccess);
  EXPECT_THROW(launch({.B = 1, .T = 1, .H = 1, .K = 4, .V = 4}), ladder::CudaError)
      << "WRONG RESULT: an error was left behind, as a launch leaves one that fails, and the "
         "launcher did not notice. The call that returns it does not wait for the kernel: "
         "cudaDeviceSynchronize waits, and is not that call";
#ifdef EMULATOR_LAUNCH  // a check before the launch finds that error, and launches nothing
  if (emulator::last_launch().grid.x != 1)
    ADD_FAILURE() << "WRONG RESULT: the launcher asks for the error before its launch, and does "
                     "not see that a "
                     "launch has failed: ask behind it";
#endif
  cudaGetLastError();  // keeps this error from the next test
}

// Although it adds atomically, one thread owns each output element and adds in order, so the bits
// are the same every time.
const bool registered = ladder::testing::register_suite(
    "wkv", "wkv_atomic", {.refuses = {"states", "reverse", "packed sequences", "K != V"}});

}  // namespace
