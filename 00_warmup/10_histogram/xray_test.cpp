#include "common/testing/xray.hpp"

#include <gtest/gtest.h>

namespace {

using namespace emulator::xray;

// Budgets are per bin. 37 bins share the loads of 4103 values, or of 1025 vectors and 3 more, and
// each bin gets at most one atomic from each of 5 blocks.
const ladder::Shape kShape = {{"N", 4103}, {"BINS", 37}};
const bool registered =
    ladder::testing::register_budget(
        "histogram_global", "histogram",
        {.loads = 4103 / 37.0, .stores = 0, .atomics = 4103 / 37.0, .host_bytes = 4}, kShape) &&
    ladder::testing::register_budget("histogram_private", "histogram",
                                     {.loads = 1028 / 37.0,
                                      .stores = 0,
                                      .atomics = 5,
                                      .host_bytes = 4,
                                      .counts = {{kBarriers, 2, "block", 5}}},
                                     kShape);

Kernel xray_of(const char* name, const char* one_bin) {
  return ladder::testing::xray_of(name, "histogram", {{"N", 4096}, {"BINS", 64}},
                                  {{"one_bin", one_bin}});
}

TEST(histogram_global, HasAnAtomicPerValue) {
  const Kernel kernel = xray_of("histogram_global", "false");
  EXPECT_EQ(kernel[kAtomics], 4096u);
  EXPECT_EQ(kernel[kGlobalLoadRequests], 128u);
  EXPECT_EQ(kernel[kAtomicRequests], 128u);
  EXPECT_EQ(kernel[kSharedAtomics], 0u);
  EXPECT_EQ(kernel[kAtomicCollisions], 836u);  // lanes that share a bin by chance
}

// All 32 lanes of a request add to the same bin.
TEST(histogram_global, CollidesMostInOneBin) {
  const Kernel kernel = xray_of("histogram_global", "true");
  EXPECT_EQ(kernel[kAtomics], 4096u);
  EXPECT_EQ(kernel[kAtomicRequests], 128u);
  EXPECT_EQ(kernel[kAtomicCollisions], 31u * 128);
}

// 4 blocks of 1024 values, and 64 bins.
TEST(histogram_private, HasAnAtomicPerBlockAndBin) {
  const Kernel kernel = xray_of("histogram_private", "false");
  EXPECT_EQ(kernel[kSharedAtomics], 4096u);
  EXPECT_EQ(kernel[kAtomics], 4u * 64);
  EXPECT_EQ(kernel[kAtomicRequests], 4u * 2);
  EXPECT_EQ(kernel[kGlobalLoadRequests], 32u);
  EXPECT_EQ(kernel[kAtomicCollisions], 0u);
  EXPECT_EQ(kernel[kBarriers], 4u * 2);
}

TEST(histogram_private, HasOneAtomicPerBlockForOneBin) {
  const Kernel kernel = xray_of("histogram_private", "true");
  EXPECT_EQ(kernel[kSharedAtomics], 4096u);
  EXPECT_EQ(kernel[kAtomics], 4u);
  EXPECT_EQ(kernel[kAtomicCollisions], 0u);
}

// ./ladder exercise shows this output.
TEST(BinsThatAreZero, KeepsItsBudget) {
  constexpr double kBlocks = 4;
  ladder::testing::expect_within_budget(
      static_cast<double>(xray_of("histogram_private", "true")[kAtomics]) / kBlocks, 1,
      "global atomics used, per block where all values are in one bin, histogram_private");
}

}  // namespace
