#include <cuda_runtime.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "00_warmup/01_first_kernel/first_program.hpp"
#include "00_warmup/hole_tests.hpp"
#include "common/testing/suite.hpp"
#include "common/testing/tests.hpp"

#ifdef EMULATOR_LAUNCH
#include "emulator/emulator.hpp"
#endif

int lesson_main();  // the program's main, which the build renames because tests have their own

namespace warmup {
namespace {

const bool registered = ladder::testing::register_suite(
    "vector_add", "vector_add_first", {.sizes = {{"N", {200, 1, 31, 32, 63, 64, 65, 129, 1000}}}});

bool no_gpu() {
  return ladder::testing::device_is_missing({.device = ladder::DeviceKind::kCuda});
}

// The test itself launches three blocks of 64 threads for 150 elements. The kernel gets N as 0 to
// 150.
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
            << "WRONG RESULT: c[" << i << "] was written, but N is " << N
            << ": the guard is missing, or lets it through";
      }
    }
  }
  EXPECT_EQ(cudaFree(memory), cudaSuccess);
}

#ifdef EMULATOR_LAUNCH  // only the emulator records the last launch
TEST(vector_add_first, Hole2LaunchesAsManyBlocksAsAreNeeded) {
  for (const std::int64_t N : {65, 64, 1, 1000}) {
    float* memory = nullptr;
    const std::size_t bytes = static_cast<std::size_t>(N) * sizeof(float);
    ASSERT_EQ(cudaMalloc(&memory, bytes), cudaSuccess);
    ASSERT_EQ(cudaMemset(memory, 0, bytes), cudaSuccess);
    emulator::reset();
    launch_add(memory, memory, memory, N);
    const emulator::LaunchSummary last = emulator::last_launch();
    EXPECT_EQ(cudaFree(memory), cudaSuccess);
    const std::int64_t blocks = last.grid.x, threads = last.block.x, right = (N + 63) / 64;
    const bool launched = last.kernel == "add_first_kernel";
    if (launched && blocks == right && threads == 64) continue;
    std::ostringstream text;
    text << "WRONG RESULT for N = " << N << "\n";
    if (!launched && N < 64) {
      text << "The kernel was not launched: N / 64 is 0 here, and a grid has at least one block.\n";
    } else if (!launched) {
      text << "The kernel was not launched.\n";
    } else if (blocks == 64 && threads == right) {
      text << "Blocks and threads are exchanged: the first number is that of the blocks.\n";
    } else if (blocks == N / 64 && threads == 64) {
      text << "The number of blocks is rounded down: the last N % 64 elements have no thread.\n";
    } else if (blocks == N / 64 + 1 && threads == 64) {
      text << "There is a block too many where N is a multiple of 64.\n";
    }
    if (launched) text << "blocks: yours " << blocks << ", right " << right << "; ";
    if (launched) text << "threads of a block: yours " << threads << ", right 64\n";
    FAIL() << text.str();
  }
}
#endif

TEST(vector_add_first, Hole2ChecksTheLaunch) {
  if (no_gpu()) return;
  ladder::testing::injects_a_failure();
  EXPECT_THROW(launch_add(nullptr, nullptr, nullptr, std::int64_t{1} << 37), std::runtime_error)
      << "WRONG RESULT: 2^31 blocks are one more than a grid can have, the launch failed, and "
         "launch_add did not say so";
  cudaGetLastError();  // keeps this error from the next test
}

// Lets the program compute c = a + b into a c that was -1.
std::vector<float> sums_of(const std::vector<float>& a, const std::vector<float>& b) {
  std::vector<float> c(a.size(), -1.0f);
  add_on_gpu(a.data(), b.data(), c.data(), static_cast<std::int64_t>(c.size()));
  return c;
}

#ifdef EMULATOR_LAUNCH
constexpr std::uint32_t kNewMemory = 0xFFFFFFFF;
bool all_have_bits(const std::vector<float>& values, std::uint32_t wanted) {
  return std::all_of(values.begin(), values.end(), [=](float x) {
    std::uint32_t bits = 0;
    std::memcpy(&bits, &x, sizeof bits);
    return bits == wanted;
  });
}

// Explains why each element of c is NaN, as in new device memory. A NaN with its own bits goes
// through the kernel. If it comes out, the kernel has read the array that held it and c was copied
// back afterwards, so the other array was new memory.
std::string why_new_memory() {
  constexpr std::uint32_t kOwn = 0x7FC01234;
  float own = 0;
  std::memcpy(&own, &kOwn, sizeof own);
  const std::vector<float> nans(100, own), numbers(100, 1.0f);
  if (all_have_bits(sums_of(nans, numbers), kOwn)) return "b was not copied to the device";
  if (all_have_bits(sums_of(numbers, nans), kOwn)) return "a was not copied to the device";
  return "c holds what new device memory holds: a or b was not copied to the device, or the kernel "
         "wrote nothing, or c was copied back before it ran";
}

// On the host c is a, one element further on. On the device it is not. A kernel that gets the
// host's arrays reads elements that other threads have written, so that in the order "forward" c
// becomes a running sum. The memory is the runtime's, so that the X-ray lets the kernel use it.
TEST(vector_add_first, Hole3GivesTheKernelDeviceMemory) {
  ladder::device(ladder::DeviceKind::kCuda).use_schedule("forward");
  constexpr std::int64_t kElements = 32;
  float* ones = nullptr;
  ASSERT_EQ(cudaMallocHost(&ones, (2 * kElements + 1) * sizeof(float)), cudaSuccess);
  std::fill_n(ones, 2 * kElements + 1, 1.0f);
  emulator::name_memory(
      {ones, (2 * kElements + 1) * sizeof(float), "the host's memory", sizeof(float), false});
  float* const c = ones + 1;
  add_on_gpu(ones, ones + kElements + 1, c, kElements);
  bool is_running_sum = true;
  for (std::int64_t i = 0; i < kElements; ++i)
    is_running_sum = is_running_sum && c[i] == static_cast<float>(i + 2);
  EXPECT_FALSE(is_running_sum) << "WRONG RESULT: the kernel got a pointer of the host";
  const bool is_new_memory = all_have_bits({c, c + kElements}, kNewMemory);
  forget_what_the_xray_saw();  // this test itself makes the arrays overlap
  EXPECT_EQ(cudaFreeHost(ones), cudaSuccess);
  if (is_new_memory) FAIL() << "WRONG RESULT: " << why_new_memory();
}
#endif

// The number of copied elements if exactly the first quarter is right, otherwise "".
std::string counted_elements(const std::vector<float>& a, const std::vector<float>& b,
                             const std::vector<float>& c) {
  for (std::size_t i = 0; i < c.size(); ++i)
    if ((c[i] == a[i] + b[i]) != (4 * i < c.size())) return "";
  const std::string array = c.back() == -1.0f ? "c" : "an input";
  return "WRONG RESULT: of " + array + " " + std::to_string(c.size()) + " bytes of " +
         std::to_string(4 * c.size()) + " were copied: N is the number of elements";
}

TEST(vector_add_first, Hole3CopiesBackAndFreesWhatItAllocates) {
  if (no_gpu()) return;
  const std::vector<float> ones(1 << 14, 1.0f);
  sums_of({1.0f}, {1.0f});  // whatever the runtime allocates for itself
  std::size_t before = 0, after = 0, total = 0;
  ASSERT_EQ(cudaMemGetInfo(&before, &total), cudaSuccess);
  sums_of(ones, ones);
  ASSERT_EQ(cudaMemGetInfo(&after, &total), cudaSuccess);
#ifdef EMULATOR_LAUNCH  // a GPU's memory is used by other programs, too
  if (after < before) {
    ADD_FAILURE() << "WRONG RESULT: " << before - after
                  << " bytes of device memory were not freed: cudaFree is missing";
  }
#endif

  std::vector<float> a(1000);
  for (std::size_t i = 0; i < a.size(); ++i)
    a[i] = static_cast<float>(i);
  const std::vector<float> b(a.size(), 0.5f), c = sums_of(a, b);
  if (std::all_of(c.begin(), c.end(), [](float x) { return x == -1.0f; }))
    FAIL() << "WRONG RESULT: nothing was copied back to the host";
#ifdef EMULATOR_LAUNCH
  if (all_have_bits(c, kNewMemory)) FAIL() << "WRONG RESULT: " << why_new_memory();
#endif
  if (const std::string why = counted_elements(a, b, c); !why.empty()) FAIL() << why;
  for (std::size_t i = 0; i < a.size(); ++i)
    ASSERT_EQ(c[i], a[i] + b[i]) << "WRONG RESULT: c[" << i << "]";
}

// Nothing can be copied from nowhere, or to it.
TEST(vector_add_first, Hole3ChecksItsCopies) {
  if (no_gpu()) return;
  const std::vector<float> ones(10, 1.0f);
  std::vector<float> c(10);
  ladder::testing::injects_a_failure();
  const auto expect_error = [](const char* of, const float* a, const float* b, float* c) {
    sums_of(std::vector<float>(1000), std::vector<float>(1000));  // of 16 blocks
    EXPECT_THROW(add_on_gpu(a, b, c, 10), std::runtime_error)
        << "WRONG RESULT: the copy of " << of
        << " failed, and add_on_gpu did not say so: its cudaMemcpy is not checked";
    cudaGetLastError();          // keeps its error from the next check
    forget_what_the_xray_saw();  // the test itself makes copies fail
#ifdef EMULATOR_LAUNCH           // the check of the launch finds a copy's error too late
    if (c != nullptr && emulator::last_launch().grid.x == 1)
      ADD_FAILURE() << "WRONG RESULT: the copy of " << of
                    << " failed, and the kernel was launched all the same: its cudaMemcpy is not "
                       "checked";
#endif
  };
  expect_error("a", nullptr, ones.data(), c.data());
  expect_error("b", ones.data(), nullptr, c.data());
  expect_error("c", ones.data(), ones.data(), nullptr);
}

TEST(FirstProgram, PrintsTheOutcome) {
  if (no_gpu()) return;
  testing::internal::CaptureStdout();
  const int status = lesson_main();
  EXPECT_EQ(testing::internal::GetCapturedStdout(), "10000 of 10000 sums are right\n");
  EXPECT_EQ(status, 0);
}

}  // namespace
}  // namespace warmup
