#include "common/testing/xray.hpp"

#include <gtest/gtest.h>

namespace {

using namespace emulator::xray;

TEST(ScaleOneEach, HasFourBytesUnderWayInAThread) {
  const auto problem = ladder::find_operator("scale").make_case({{"N", 4096}}, {}, "fp32")->make();
  const Kernel kernel = ladder::testing::only_one(ladder::testing::sound_kernels(
      ladder::xray(ladder::find_implementation("scale_one_each"), *problem, "fp32")));
  ASSERT_GE(kernel.steps.size(), 2u);
  const Access &first = kernel.accesses[kernel.steps[0].access],
               &second = kernel.accesses[kernel.steps[1].access];
  EXPECT_EQ(first.operation, Operation::kLoad);
  EXPECT_EQ(first.bytes, 4u);
  EXPECT_EQ(second.operation, Operation::kStore);
  EXPECT_EQ(kernel[kGlobalLoadRequests], 4096u / kWarpSize);
}

}  // namespace
