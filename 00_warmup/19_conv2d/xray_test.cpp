#include "common/testing/xray.hpp"

#include <gtest/gtest.h>

namespace {

using namespace emulator::xray;

// 27 taps of the window, a pixel and a weight for each, and the bias. Without padding each tap has
// a pixel.
const ladder::Shape kRagged = {{"B", 2},  {"M", 3},  {"C", 3},      {"H", 9},  {"W", 11},
                               {"KH", 3}, {"KW", 3}, {"stride", 2}, {"pad", 0}};
const bool registered =
    ladder::testing::register_budget("conv2d_direct", "conv2d", {.loads = 2 * 27 + 1, .stores = 1},
                                     kRagged) &&
    ladder::testing::register_budget("conv2d_window", "conv2d", {.loads = 2 * 27 + 1, .stores = 1},
                                     kRagged);

const ladder::Shape kPadded = {{"B", 2},  {"M", 3},  {"C", 2},      {"H", 6},  {"W", 7},
                               {"KH", 3}, {"KW", 5}, {"stride", 2}, {"pad", 2}};
const bool bounds = ladder::testing::register_bounds("conv2d_window", "conv2d", kPadded) &&
                    ladder::testing::register_bounds("conv2d_direct", "conv2d", kPadded);

// The README's table has 4 channels of 8 x 32 results.
constexpr std::uint64_t kResults = 4 * 8 * 32, kChannels = 3, kWindow = 9;
Kernel kernel_of(const std::string& implementation, std::int64_t stride = 1) {
  return ladder::testing::xray_of(implementation, "conv2d",
                                  {{"B", 1},
                                   {"M", 4},
                                   {"C", kChannels},
                                   {"H", 10},
                                   {"W", 32 * stride + 2},
                                   {"KH", 3},
                                   {"KW", 3},
                                   {"stride", stride},
                                   {"pad", 0}});
}

TEST(Conv2dWindow, HasARequestForEachResultAndNineLanesInIt) {
  const Kernel kernel = kernel_of("conv2d_window");
  const Traffic &x = kernel.buffer("x").loads(), &weight = kernel.buffer("weight").loads();
  EXPECT_EQ(x.requests, kResults * kChannels);
  EXPECT_EQ(x.accesses, kWindow * x.requests);
  EXPECT_EQ(weight.requests, kResults * kChannels);
  EXPECT_EQ(kernel[kShuffles], 5 * kResults);
  EXPECT_EQ(x.sectors, 11520u);
  EXPECT_EQ(weight.sectors, 2 * weight.requests);
}

TEST(Conv2dDirect, HasARequestForEachPlaceOfTheWindowAndAllLanesInIt) {
  const Kernel kernel = kernel_of("conv2d_direct");
  const Traffic &x = kernel.buffer("x").loads(), &weight = kernel.buffer("weight").loads();
  EXPECT_EQ(x.requests, kResults / kWarpSize * kChannels * kWindow);
  EXPECT_EQ(x.accesses, kWarpSize * x.requests);
  EXPECT_EQ(weight.requests, x.requests);
  EXPECT_EQ(weight.sectors, weight.requests);
  EXPECT_EQ(kernel[kShuffles], 0u);
  EXPECT_EQ(x.sectors, 4176u);
}

// 4 rows of 32 results, in which the pixels of adjacent lanes are two apart.
TEST(Conv2dDirect, TouchesNearlyTwiceAsManySectorsWhereTheStrideIsTwo) {
  const Kernel kernel = kernel_of("conv2d_direct", 2);
  const Traffic& x = kernel.buffer("x").loads();
  EXPECT_EQ(x.requests, kResults / 2 / kWarpSize * kChannels * kWindow);
  EXPECT_EQ(x.sectors, 3768u);
}

}  // namespace
