#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <vector>

#include "00_warmup/02_grid_stride/grid_stride.hpp"
#include "common/core/guarded_array.hpp"
#include "common/core/registry.hpp"
#include "common/emulator/include/emulator/smaller_device.hpp"
#include "common/testing/suite.hpp"
#include "common/testing/tests.hpp"

namespace warmup {
namespace {

// 2,051 elements are eight blocks and three elements more.
const ladder::Support kSupport{.sizes = {{"N", {2051, 1, 3, 4, 255, 256, 257, 1000, 1024}}}};
// An iteration of the grid covers 8 or 256 blocks of 256 threads per SM, with one or four elements
// per thread.
ladder::Support in_turns(const ladder::Border& turn) {
  ladder::Support support = kSupport;
  support.borders = {turn};
  return support;
}
const bool registered[] = {
    ladder::testing::register_suite("vector_add", "vector_add_per_element", kSupport),
    ladder::testing::register_suite(
        "vector_add", "vector_add_grid_stride",
        in_turns({.size = "N", .at = {2 * 8 * 256}, .multiprocessors = 2})),
    ladder::testing::register_suite(
        "vector_add", "vector_add_vectors",
        in_turns({.size = "N", .at = {256 * 256 * 4}, .step = 4, .multiprocessors = 1}))};

// Applies `add` to a = 1 and b = 2. In place, c is a, so an element that is added twice is 5.
struct Sums {
  Sums(std::int64_t N, bool in_place, const std::function<void(const VectorAddArgs&)>& add)
      : c(static_cast<std::size_t>(N)) {
    using ladder::GuardedArray;
    ladder::Device& device = ladder::device(ladder::DeviceKind::kCuda);
    const std::vector<float> ones(c.size(), 1.0f), twos(c.size(), 2.0f);
    const std::vector<float> unwritten(c.size(), std::numeric_limits<float>::quiet_NaN());
    GuardedArray a_array(device, "a", ones, GuardedArray::Role::kInput);
    GuardedArray b_array(device, "b", twos, GuardedArray::Role::kInput);
    GuardedArray c_array(device, "c", unwritten, GuardedArray::Role::kOutput);
    const GuardedArray& result = in_place ? a_array : c_array;
    VectorAddArgs args;
    args.N = N;
    args.a = static_cast<const float*>(a_array.pointer());
    args.b = static_cast<const float*>(b_array.pointer());
    args.c = static_cast<float*>(result.pointer());
    add(args);
    device.synchronize();
    result.check_guards();
    result.download(c.data());
  }
  std::vector<float> c;
};

bool no_gpu() {
  return ladder::testing::device_is_missing({.device = ladder::DeviceKind::kCuda});
}

// The learner's function must return the number of elements that the kernel of one element per
// thread leaves unwritten.
TEST(vector_add_per_element, Hole1LeavesWhatTheGridDoesNotReach) {
  if (no_gpu()) return;
  for (const std::int64_t N : {1, 256, 700}) {
    for (const std::int64_t blocks : {1, 2, 3}) {
      const Sums sums(N, false, [=](const auto& args) { add_per_element_on(args, blocks); });
      std::int64_t unwritten = 0;
      for (const float x : sums.c)
        unwritten += std::isnan(x);
      EXPECT_EQ(unwritten_elements(N, blocks), unwritten)
          << "WRONG RESULT of unwritten_elements: N = " << N << ", blocks = " << blocks;
    }
  }
}

TEST(vector_add_grid_stride, Hole2IsRightOnAnyGrid) {
  if (no_gpu()) return;
  for (const std::int64_t blocks : {1, 2, 3, 5}) {
    const Sums sums(1000, true, [=](const auto& args) { add_grid_stride_on(args, blocks); });
    for (std::size_t i = 0; i < sums.c.size(); ++i)
      ASSERT_EQ(sums.c[i], 3.0f) << "WRONG RESULT with a grid of " << blocks << " blocks: element "
                                 << i << " was added " << (sums.c[i] - 1) / 2 << " times, not once";
  }
}

// Without vectors, too, a thread adds several elements if there are more elements than threads in
// the grid.
TEST(vector_add_vectors, GoesOnWhereNothingIsAligned) {
  if (no_gpu()) return;
  const emulator::SmallerDevice small(emulator::SmallerDevice::kMultiprocessors, "1");
  const ladder::ShiftedArray shifted("a");
  const Sums sums(256 * 256 + 257, false, [](const auto& args) {
    ladder::launch<VectorAdd>(ladder::find_implementation("vector_add_vectors"), args);
  });
  EXPECT_TRUE(shifted.used());
  for (std::size_t i = 0; i < sums.c.size(); ++i)
    ASSERT_EQ(sums.c[i], 3.0f) << "WRONG RESULT: element " << i << " of " << sums.c.size();
}

TEST(vector_add_grid_stride, Hole3GridFillsTheGpuAndNoMore) {
  EXPECT_EQ(blocks_for(1, 132, 8), 1) << "WRONG RESULT for one element: one block has work";
  EXPECT_EQ(blocks_for(256, 132, 8), 1) << "WRONG RESULT for a block's elements";
  EXPECT_EQ(blocks_for(257, 132, 8), 2) << "WRONG RESULT for one element more";
  EXPECT_EQ(blocks_for(1 << 30, 132, 8), 132 * 8)
      << "WRONG RESULT: 132 multiprocessors, 8 blocks each";
  EXPECT_EQ(blocks_for(1 << 30, 132, 3), 132 * 3)
      << "WRONG RESULT: 132 multiprocessors, 3 blocks each";
  EXPECT_EQ(blocks_for(1 << 30, 16, 8), 16 * 8)
      << "WRONG RESULT: 16 multiprocessors, 8 blocks each";
}

}  // namespace
}  // namespace warmup
