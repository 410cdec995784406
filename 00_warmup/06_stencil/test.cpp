#include "common/testing/suite.hpp"

#include <cuda_runtime.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "00_warmup/06_stencil/moving_mean.hpp"
#include "00_warmup/hole_tests.hpp"
#include "common/testing/tests.hpp"

namespace warmup {
namespace {

const ladder::Support kSupport{
    .sizes = {{"N", {300, 1, 20, 127, 128, 129, 256}}, {"R", {3, 0, 1, 4, 32}}},
    .most = {{"R", 32}}};
const bool registered =
    ladder::testing::register_suite("moving_mean", "stencil_global", kSupport) &&
    ladder::testing::register_suite("moving_mean", "stencil_shared", kSupport);

// Under each order of the threads.
const bool hole = register_hole("stencil_shared", "Hole2IsRightInAnyOrder", "moving_mean",
                                {{"N", 300}, {"R", 3}});

// y of two blocks, R = 3. There is NaN before and after x.
constexpr std::int64_t kTile = 128, kElements = 2 * kTile, kRadius = 3;
float number(std::int64_t i) {
  return i < 0 || i >= kElements ? 0.0f : static_cast<float>(i * 7919 % 4093);
}
std::vector<float> means(const std::string& schedule) {
  ladder::Device& device = ladder::device(ladder::DeviceKind::kCuda);
  device.use_schedule(schedule);
  std::vector<float> x(3 * kElements, std::numeric_limits<float>::quiet_NaN()), y(kElements);
  for (std::int64_t i = 0; i < kElements; ++i)
    x[kElements + i] = number(i);
  float *x_device = nullptr, *y_device = nullptr;
  EXPECT_EQ(cudaMalloc(&x_device, x.size() * sizeof(float)), cudaSuccess);
  EXPECT_EQ(cudaMalloc(&y_device, y.size() * sizeof(float)), cudaSuccess);
  device.upload(x_device, x.data(), x.size() * sizeof(float));
  MovingMeanArgs args;
  args.N = kElements, args.R = kRadius;
  args.x = x_device + kElements;
  args.y = y_device;
  ladder::launch<MovingMean>(ladder::find_implementation("stencil_shared"), args);
  device.synchronize();
  device.download(y.data(), y_device, y.size() * sizeof(float));
  forget_what_the_xray_saw();  // races without a barrier are tested by the next hole
  EXPECT_EQ(cudaFree(x_device), cudaSuccess);
  EXPECT_EQ(cudaFree(y_device), cudaSuccess);
  return y;
}

// The mean around element i of two blocks, either the first element of a block, with a left halo
// from x[own + offset], or the last one, with such a right halo. x[own] is the own element of the
// thread that loads the halo.
float mean_around(std::int64_t i, bool left, std::int64_t offset) {
  float sum = 0;
  for (std::int64_t t = 0; t < kRadius; ++t)
    sum += number(i / kTile * kTile + t + offset);
  for (std::int64_t j = 0; j <= kRadius; ++j)
    sum += number(left ? i + j : i - j);
  return sum / static_cast<float>(2 * kRadius + 1);
}

// This works without the barrier, too, because the thread that runs last in its block finds the
// whole tile. In the emulator's order "forward" this is the thread with the right halo, in
// "reverse" the one with the left halo.
TEST(stencil_shared, Hole1BringsBothHalos) {
  if (ladder::testing::device_is_missing(ladder::find_implementation("stencil_shared"))) return;
  for (const bool left : {true, false}) {
    const std::vector<float> y = means(left ? "reverse" : "forward");
    const std::int64_t first = left ? 0 : kTile - 1;
    const auto halo_is = [&](std::int64_t offset) {
      return std::abs(y[first] - mean_around(first, left, offset)) < 0.01f &&
             std::abs(y[first + kTile] - mean_around(first + kTile, left, offset)) < 0.01f;
    };
    if (halo_is(left ? -kRadius : kTile)) continue;
    const std::string halo = left ? "left halo" : "right halo";
    for (const std::int64_t i : {first, first + kTile}) {
      ASSERT_FALSE(std::isnan(y[i]))
          << "WRONG RESULT: y[" << i << "], which needs the " << halo
          << " of its block, is NaN: a place of the tile was not written, or x was read "
          << (left ? "in front of its first element" : "behind its last element");
    }
    std::string found;
    for (std::int64_t offset = -kElements; offset <= kElements; ++offset) {
      if (halo_is(offset))
        found += (found.empty() ? ": it was brought from x[i + " : " or x[i + ") +
                 std::to_string(offset) + "]";
    }
    FAIL() << "WRONG RESULT: the " << halo << found << ", should be "
           << (left ? "x[i - R]" : "x[i + 128]") << "; i is the thread's own element, R is 3";
  }
}

}  // namespace
}  // namespace warmup
