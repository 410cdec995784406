#include "common/testing/suite.hpp"

#include <cuda_runtime.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <stdexcept>
#include <string>
#include <vector>

#include "00_warmup/07_when_it_is_wrong/block_running_sum.hpp"
#include "00_warmup/hole_tests.hpp"
#include "common/testing/tests.hpp"

namespace warmup {
namespace {

const bool registered = ladder::testing::register_suite(
    "block_running_sum", "block_running_sum", {.sizes = {{"N", {300, 1, 20, 127, 128, 129, 256}}}});

// Under each order of the threads.
const bool hole =
    register_hole("block_running_sum", "Hole2IsRightInAnyOrder", "block_running_sum", {{"N", 300}});

// Memory on the device with 0, 1, 2, ... in it.
class Numbers {
 public:
  explicit Numbers(std::int64_t N) {
    std::vector<float> values(static_cast<std::size_t>(N));
    for (std::size_t i = 0; i < values.size(); ++i)
      values[i] = static_cast<float>(i);
    const std::size_t bytes = values.size() * sizeof(float);
    if (cudaMalloc(&x_, bytes) != cudaSuccess || cudaMalloc(&y_, bytes) != cudaSuccess ||
        cudaMemcpy(x_, values.data(), bytes, cudaMemcpyHostToDevice) != cudaSuccess)
      throw std::runtime_error("no device memory");
    args_.N = N;
    args_.x = x_;
    args_.y = y_;
  }
  ~Numbers() {
    cudaFree(x_);
    cudaFree(y_);
  }
  Numbers(const Numbers&) = delete;
  Numbers& operator=(const Numbers&) = delete;
  const BlockRunningSumArgs& args() const { return args_; }

 private:
  float *x_ = nullptr, *y_ = nullptr;
  BlockRunningSumArgs args_;
};

bool no_device() {
  return ladder::testing::device_is_missing(ladder::find_implementation("block_running_sum"));
}

TEST(Fulfils, Hole1ComparesEachIndexWithItsCondition) {
  struct {
    const char* conditions;
    unsigned x, y, z;
    bool are;
  } const cases[] = {
      {"", 7, 8, 9, true},          {"=0", 0, 5, 5, true},     {"=0", 1, 0, 0, false},
      {"=0,>1", 0, 2, 0, true},     {"=0,>1", 0, 1, 0, false}, {",,<3", 9, 9, 2, true},
      {",,<3", 0, 0, 3, false},     {"<=3", 3, 0, 0, true},    {"<=3", 4, 0, 0, false},
      {">=3, !=1", 3, 2, 0, true},  {">=3", 2, 0, 0, false},   {"!=1", 1, 0, 0, false},
      {">10,=12,", 11, 12, 0, true}};
  for (const auto& each : cases) {
    EXPECT_EQ(fulfils(each.conditions, each.x, each.y, each.z), each.are)
        << "WRONG RESULT: \"" << each.conditions << "\" of (" << each.x << ", " << each.y << ", "
        << each.z << ")";
  }
}

TEST(Fulfils, RefusesWhatIsNoCondition) {
  for (const char* wrong : {"0", "==0", "=", "=x", ">-1", "=1=2", ",,,", "=1,2"})
    EXPECT_THROW(fulfils(wrong, 0, 0, 0), std::invalid_argument) << wrong;
}

TEST(WatchRunningSum, PrintsFromChosenThreads) {
  if (no_device()) return;
  const Numbers numbers(300);
  testing::internal::CaptureStdout();
  watch_running_sum(numbers.args(), "=1", "=2");
  std::fflush(stdout);
  const std::string printed = testing::internal::GetCapturedStdout();
  // Block 1 begins with 128, 129, 130.
  EXPECT_EQ(printed,
            "block 1 thread 2 step 1: added 129, now 259\n"
            "block 1 thread 2 step 2: added 128, now 387\n"
            "block 1 thread 2 step 4: added 0, now 387\n"
            "block 1 thread 2 step 8: added 0, now 387\n"
            "block 1 thread 2 step 16: added 0, now 387\n"
            "block 1 thread 2 step 32: added 0, now 387\n"
            "block 1 thread 2 step 64: added 0, now 387\n")
      << "WRONG RESULT";
}

TEST(IsOnDevice, KnowsWhereAPointerPoints) {
  if (no_device()) return;
  const Numbers numbers(3);
  const float here = 0;
  EXPECT_TRUE(is_on_device(numbers.args().x));
  EXPECT_TRUE(is_on_device(numbers.args().x + 2));
  EXPECT_FALSE(is_on_device(&here));
}

TEST(Errors, OfALaunchThatCannotStartAreToldOnce) {
  if (no_device()) return;
  const std::string said = errors_of_an_impossible_launch();
  // A kernel that promises __launch_bounds__ fails on a GPU in another way.
  const std::string error = said.find("InvalidValue") == std::string::npos
                                ? "cudaErrorInvalidConfiguration\n"
                                : "cudaErrorInvalidValue\n";
  EXPECT_EQ(said, "peek: " + error + "get: " + error +
                      "get again: cudaSuccess\n"
                      "synchronize: cudaSuccess\n");
}

TEST(IsContiguous, Hole3LooksAtTheStridesOfAllAxes) {
  struct {
    View view;
    bool is;
    const char* what;
  } const views[] = {
      {{{2, 3, 4}, {12, 4, 1}}, true, "a whole array"},
      {{{2, 3, 4}, {12, 1, 3}}, false, "a transposed view: the last index makes steps of 3"},
      {{{2, 3, 3}, {12, 4, 1}}, false, "three of four columns: each row leaves a gap"},
      {{{2, 2, 4}, {12, 4, 1}}, false, "two of three rows: each matrix leaves a gap"},
      {{{1, 3, 3}, {99, 4, 1}}, false, "the same in one matrix: each row leaves a gap"},
      {{{1, 1, 4}, {99, 99, 2}}, false, "every second column: each element leaves a gap"},
      {{{1, 3, 4}, {99, 4, 1}}, true, "an index with one value makes no step"},
      {{{2, 1, 3}, {3, 99, 1}},
       true,
       "an index with one value makes no step: its stride does not count for those before it"},
      {{{2, 1, 3}, {99, 99, 1}},
       false,
       "an index with one value makes no step: its stride does not count for those before it"},
      {{{2, 3, 1}, {3, 1, 7}}, true, "the same, where it is the last"},
      {{{2, 0, 4}, {5, 5, 5}}, true, "no elements"},
      {{{2, 3, 4}, {0, 4, 1}}, false, "one matrix, shown twice"},
  };
  for (const auto& each : views)
    EXPECT_EQ(is_contiguous(each.view), each.is)
        << "WRONG RESULT: sizes " << testing::PrintToString(each.view.sizes) << ", strides "
        << testing::PrintToString(each.view.strides) << ": " << each.what;
}

}  // namespace
}  // namespace warmup
