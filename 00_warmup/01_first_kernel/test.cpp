#include <cuda_runtime.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "00_warmup/01_first_kernel/first_program.hpp"
#include "common/testing/suite.hpp"
#include "common/testing/tests.hpp"

#ifdef EMULATOR_LAUNCH
#include "emulator/emulator.hpp"
#endif

int lesson_main();  // the program's main: the build calls it so, because tests have a main of their own

namespace chapter00 {

void add_first_kernel(const float* a, const float* b, float* c, std::int64_t N);
void launch_add(const float* a, const float* b, float* c, std::int64_t N);

namespace {

const bool registered = ladder::testing::register_suite(
    "vector_add", "vector_add_first", {.sizes = {{"N", {200, 1, 31, 32, 63, 64, 65, 129, 1000}}}});

bool no_gpu() {
  return ladder::testing::device_is_missing({.device = ladder::DeviceKind::kCuda});
}

// Three blocks of 64 threads for 150 elements, launched by the test itself. The kernel gets N as 0 to 150.
TEST(vector_add_first, Hole1WritesTheElementsBelowN) {
  if (no_gpu()) return;
  constexpr std::int64_t kElements = 192;
  float* memory = nullptr;
  ASSERT_EQ(cudaMalloc(&memory, 2 * kElements * sizeof(float)), cudaSuccess);
  const float *a = memory, *b = memory;
  float* c = memory + kElements;
  for (std::int64_t N : {150, 64, 1, 0}) {
    std::vector<float> values(2 * kElements, -1.0f);
    for (std::int64_t i = 0; i < kElements; ++i)
      values[i] = static_cast<float>(i);
    const std::size_t bytes = values.size() * sizeof(float);
    ASSERT_EQ(cudaMemcpy(memory, values.data(), bytes, cudaMemcpyHostToDevice), cudaSuccess);
#ifdef EMULATOR_LAUNCH
    EMULATOR_LAUNCH(add_first_kernel)(3, 64)(a, b, c, N);
#else
    void* arguments[] = {&a, &b, &c, &N};
    ASSERT_EQ(cudaLaunchKernel(reinterpret_cast<const void*>(add_first_kernel), 3, 64, arguments, 0,
                               nullptr),
              cudaSuccess);
#endif
    ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
    ASSERT_EQ(cudaMemcpy(values.data(), memory, bytes, cudaMemcpyDeviceToHost), cudaSuccess);
    for (std::int64_t i = 0; i < kElements; ++i) {
      if (i < N) {
        ASSERT_EQ(values[kElements + i], 2.0f * static_cast<float>(i))
            << "WRONG RESULT: c[" << i << "], N = " << N;
      } else {
        ASSERT_EQ(values[kElements + i], -1.0f)
            << "WRONG RESULT: c[" << i << "] was written, but N is " << N << ": no guard";
      }
    }
  }
  EXPECT_EQ(cudaFree(memory), cudaSuccess);
}

#ifdef EMULATOR_LAUNCH  // only the emulator says how the last launch was
TEST(vector_add_first, Hole2LaunchesAsManyBlocksAsAreNeeded) {
  for (const std::int64_t N : {1, 64, 65, 1000}) {
    float* memory = nullptr;
    const std::size_t bytes = static_cast<std::size_t>(N) * sizeof(float);
    ASSERT_EQ(cudaMalloc(&memory, bytes), cudaSuccess);
    ASSERT_EQ(cudaMemset(memory, 0, bytes), cudaSuccess);
    emulator::reset();
    launch_add(memory, memory, memory, N);
    const emulator::LaunchSummary last = emulator::last_launch();
    EXPECT_EQ(last.kernel, "add_first_kernel") << "WRONG RESULT: no launch of the kernel";
    EXPECT_EQ(last.block.x, 64u) << "threads of a block";
    EXPECT_EQ(static_cast<std::int64_t>(last.grid.x), (N + 63) / 64)
        << "WRONG RESULT: blocks for N = " << N;
    EXPECT_EQ(cudaFree(memory), cudaSuccess);
  }
}
#endif

// Whatever the kernel does: what is in c afterwards has come from the device.
TEST(vector_add_first, Hole3CopiesBackAndFreesWhatItAllocates) {
  if (no_gpu()) return;
  constexpr std::int64_t kElements = 1 << 20;
  const std::vector<float> a(kElements, 1.0f);
  std::vector<float> c(kElements, -1.0f);
  add_on_gpu(a.data(), a.data(), c.data(), 1);  // whatever the runtime allocates for itself
  std::size_t before = 0, after = 0, total = 0;
  ASSERT_EQ(cudaMemGetInfo(&before, &total), cudaSuccess);
  add_on_gpu(a.data(), a.data(), c.data(), kElements / 64);
  ASSERT_EQ(cudaMemGetInfo(&after, &total), cudaSuccess);
#ifdef EMULATOR_LAUNCH  // a GPU's memory is used by other programs, too
  EXPECT_GE(after, before) << before - after
                           << " bytes of device memory were not freed: cudaFree is missing";
#endif
  EXPECT_NE(c[0], -1.0f) << "WRONG RESULT: nothing was copied back to the host";
}

TEST(FirstProgram, PrintsTheOutcome) {
  if (no_gpu()) return;
  testing::internal::CaptureStdout();
  const int status = lesson_main();
  EXPECT_EQ(testing::internal::GetCapturedStdout(), "10000 of 10000 sums are right\n");
  EXPECT_EQ(status, 0);
}

}  // namespace
}  // namespace chapter00
