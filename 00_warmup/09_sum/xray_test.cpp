#include "common/testing/xray.hpp"

#include <gtest/gtest.h>

namespace {

using namespace emulator::xray;

// Budgets are per element of the first output, which is one element, so they are the whole cost of
// a sum of 5003 elements, in 20 blocks of 256 elements or 5 of 1024.
const ladder::Shape kShape = {{"N", 5003}};
const bool registered =
    ladder::testing::register_budget(
        "sum_tree", "sum", {.loads = 5003, .stores = 0, .atomics = 20, .host_bytes = 4}, kShape) &&
    ladder::testing::register_budget(
        "sum_shuffle", "sum",
        {.loads = 1250 + 3,
         .stores = 0,
         .atomics = 5,
         .host_bytes = 4,
         .counts = {{kShuffles, 2 * 5, "warp", 5 * 8}, {kSharedStoreRequests, 1, "warp", 5 * 8}}},
        kShape);
const bool bounds = ladder::testing::register_bounds("sum_atomic", "sum", kShape) &&
                    ladder::testing::register_bounds("sum_two_passes", "sum", kShape);

Kernel xray_of(const char* name) {
  return ladder::testing::xrays_of(name, "sum", {{"N", 4096}}).front();
}

TEST(sum_atomic, HasThirtyOneCollisionsARequest) {
  const Kernel kernel = xray_of("sum_atomic");
  EXPECT_EQ(kernel[kAtomics], 4096u);
  EXPECT_EQ(kernel[kAtomicRequests], 128u);
  EXPECT_EQ(kernel[kAtomicCollisions], 31u * 128);
  EXPECT_EQ(kernel[kGlobalLoadRequests], 128u);
}

// 16 blocks, and a tree of eight levels.
TEST(sum_tree, HasAnAtomicPerBlockAndABarrierPerLevel) {
  const Kernel kernel = xray_of("sum_tree");
  EXPECT_EQ(kernel[kAtomics], 16u);
  EXPECT_EQ(kernel[kAtomicCollisions], 0u);
  EXPECT_EQ(kernel[kBarriers], 16u * 8);
  EXPECT_EQ(kernel[kSharedLoadBankConflicts], 0u);
  EXPECT_EQ(kernel[kGlobalLoadRequests], 128u);
}

// 4 blocks of 1024 elements, 8 warps each.
TEST(sum_shuffle, HasOneBarrierAndAQuarterOfTheLoads) {
  const Kernel kernel = xray_of("sum_shuffle");
  EXPECT_EQ(kernel[kAtomics], 4u);
  EXPECT_EQ(kernel[kAtomicCollisions], 0u);
  EXPECT_EQ(kernel[kBarriers], 4u);
  EXPECT_EQ(kernel[kGlobalLoadRequests], 32u);
  EXPECT_EQ(kernel[kGlobalLoadSectors], 4096u * 4 / 32);
  EXPECT_EQ(kernel[kShuffles], 4u * 8 * 2 * 5);
}

TEST(sum_two_passes, HasNoAtomics) {
  const Kernel kernel = xray_of("sum_two_passes");
  EXPECT_EQ(kernel.launches, 2u);
  EXPECT_EQ(kernel[kAtomics], 0u);
  EXPECT_EQ(kernel[kBarriers], 4u + 1);
  EXPECT_EQ(kernel[kShuffles], (4u + 1) * 8 * 2 * 5);
  EXPECT_EQ(kernel[kGlobalLoadRequests], 32u + 1);
  EXPECT_EQ(kernel[kGlobalStoreRequests], 4u + 1);
}

}  // namespace
