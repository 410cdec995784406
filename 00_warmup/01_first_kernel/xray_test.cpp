#include <gtest/gtest.h>

#include "00_warmup/01_first_kernel/first_program.hpp"
#include "common/testing/xray.hpp"

namespace {

using namespace emulator::xray;

// a and b are copied to the device.
const bool registered = ladder::testing::register_budget(
    "vector_add_first", "vector_add", {.loads = 2, .stores = 1, .host_bytes = 8}, {{"N", 1000}});

// 1,000 elements in 16 blocks of two warps. The last warp has 8 elements, and 24 lanes that do
// nothing.
TEST(VectorAddFirst, TouchesEachNumberOnce) {
  const Kernel kernel = ladder::testing::xray_of("vector_add_first", "vector_add", {{"N", 1000}});
  EXPECT_EQ(kernel.grid.x, 16u);
  EXPECT_EQ(kernel[kGlobalLoadRequests], 2 * 32u);
  EXPECT_EQ(kernel[kGlobalStoreRequests], 32u);
  EXPECT_EQ(kernel[kGlobalLoadBytesAsked], 2 * 4000u);
  EXPECT_EQ(kernel[kGlobalStoreBytesAsked], 4000u);
  EXPECT_EQ(kernel[kAtomics], 0u);
}

}  // namespace
