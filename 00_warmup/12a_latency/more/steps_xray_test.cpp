#include "common/testing/xray.hpp"

#include <gtest/gtest.h>

namespace {

using namespace emulator::xray;

const bool bounds = ladder::testing::register_bounds("scale_one_each", "scale", {{"N", 4099}});

TEST(ScaleOneEach, HasFourBytesUnderWayInAThread) {
  const Kernel kernel = ladder::testing::xray_of("scale_one_each", "scale", {{"N", 4096}});
  ASSERT_GE(kernel.steps.size(), 2u);
  const Access &first = kernel.accesses[kernel.steps[0].access],
               &second = kernel.accesses[kernel.steps[1].access];
  EXPECT_EQ(first.operation, Operation::kLoad);
  EXPECT_EQ(first.bytes, 4u);
  EXPECT_EQ(second.operation, Operation::kStore);
  EXPECT_EQ(kernel[kGlobalLoadRequests], 4096u / kWarpSize);
}

}  // namespace
