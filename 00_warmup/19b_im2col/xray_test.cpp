#include "common/testing/xray.hpp"

#include <gtest/gtest.h>

namespace {

using namespace emulator::xray;

// 27 taps and 40 window positions are one tile along K, two of columns and two of rows. Without
// padding each tap has a pixel.
const bool registered =
    ladder::testing::register_budget("conv2d_im2col", "conv2d",
                                     {.loads = (2 * 37 * 27 + 2 * 27 * 40) / (37.0 * 40.0) + 1,
                                      .stores = 1,
                                      .counts = {{kBarriers, 2, "tile", 4}}},
                                     {{"B", 2},
                                      {"M", 37},
                                      {"C", 3},
                                      {"H", 9},
                                      {"W", 11},
                                      {"KH", 3},
                                      {"KW", 3},
                                      {"stride", 2},
                                      {"pad", 0}});

const bool bounds = ladder::testing::register_bounds("conv2d_im2col", "conv2d",
                                                     {{"B", 2},
                                                      {"M", 3},
                                                      {"C", 5},
                                                      {"H", 6},
                                                      {"W", 7},
                                                      {"KH", 3},
                                                      {"KW", 5},
                                                      {"stride", 2},
                                                      {"pad", 2}});

TEST(Conv2dIm2col, FetchesAPixelOnceForEachTapAndTileOfChannels) {
  constexpr std::uint64_t kM = 32, kTaps = 4 * 9, kPlaces = 8 * 32, kTile = 32;
  const Kernel kernel = ladder::testing::xray_of("conv2d_im2col", "conv2d",
                                                 {{"B", 1},
                                                  {"M", kM},
                                                  {"C", 4},
                                                  {"H", 10},
                                                  {"W", 34},
                                                  {"KH", 3},
                                                  {"KW", 3},
                                                  {"stride", 1},
                                                  {"pad", 0}});
  const Traffic &x = kernel.buffer("x").loads(), &weight = kernel.buffer("weight").loads();
  EXPECT_EQ(x.accesses, kTaps * kPlaces * kM / kTile);
  EXPECT_EQ(x.accesses_per_element.most, 9u);
  EXPECT_EQ(weight.accesses_per_element.least, kPlaces / kTile);
  EXPECT_EQ(weight.accesses_per_element.most, kPlaces / kTile);
  EXPECT_EQ(kernel[kBarriers], 2 * 2 * kPlaces / kTile);
  EXPECT_EQ(kernel[kSharedLoadBankConflicts], 0u);
}

}  // namespace
