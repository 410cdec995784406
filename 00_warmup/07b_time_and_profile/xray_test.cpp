#include "common/testing/xray.hpp"

#include <gtest/gtest.h>

#include "00_warmup/07b_time_and_profile/pieces.hpp"

namespace {

using namespace emulator::xray;

const bool registered = ladder::testing::register_budget(
    "vector_add_in_pieces", "vector_add", {.loads = 2, .stores = 1, .atomics = 0, .host_bytes = 12},
    {{"N", 1000}});

// 1,000 elements are eight launches of 125, each of one block. Its first four warps have work, the
// last of them for 29 lanes.
TEST(AddInPieces, TouchesEachNumberOnce) {
  const Kernel kernel =
      ladder::testing::xray_of("vector_add_in_pieces", "vector_add", {{"N", 1000}});
  EXPECT_EQ(kernel.grid.x, 1u);
  EXPECT_EQ(kernel[kGlobalLoadRequests], 8 * 2 * 4u);
  EXPECT_EQ(kernel[kGlobalStoreRequests], 8 * 4u);
  EXPECT_EQ(kernel[kGlobalLoadBytesAsked], 2 * 4000u);
  EXPECT_EQ(kernel[kGlobalStoreBytesAsked], 4000u);
  EXPECT_TRUE(kernel.errors.empty());
}

}  // namespace
