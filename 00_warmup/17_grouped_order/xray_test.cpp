#include "common/testing/xray.hpp"

#include <gtest/gtest.h>

namespace {

using namespace emulator::xray;

const bool registered = ladder::testing::register_budget(
    "matmul_grouped", "matmul",
    {.loads = (2 * 140 * 9 + 2 * 9 * 130) / (140.0 * 130.0), .stores = 1, .uses_places_once = true},
    {{"M", 140}, {"N", 130}, {"K", 9}}, {}, {}, "bf16");  // four blocks, a tile of each

// The order of blocks changes neither the bytes that a block moves nor its products.
TEST(MatmulGrouped, DoesTheSameInAnotherOrder) {
  const ladder::Shape shape = {{"M", 256}, {"N", 256}, {"K", 64}};
  const Kernel before =
      ladder::testing::xray_of("matmul_copies_ahead", "matmul", shape, {}, "bf16");
  const Kernel after = ladder::testing::xray_of("matmul_grouped", "matmul", shape, {}, "bf16");
  for (const Counter counter : {kGlobalLoadRequests, kGlobalLoadBytesMoved, kGlobalStoreRequests,
                                kGlobalStoreSectors, kAsyncCopies, kSharedMatrixLoadRequests,
                                kSharedLoadWavefronts, kTensorOperations, kBarriers})
    EXPECT_EQ(before[counter], after[counter]) << info(counter).name;
  EXPECT_EQ(after.buffer("a").loads().accesses_per_element.most, 2u);
  EXPECT_EQ(after.buffer("b").loads().accesses_per_element.most, 2u);
}

}  // namespace
