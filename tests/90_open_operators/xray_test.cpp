#include "common/testing/xray.hpp"

#include <gtest/gtest-spi.h>
#include <gtest/gtest.h>

#include <cmath>

namespace {

using namespace emulator::xray;

// Sizes that do not fill a block, with K = 12.
const ladder::Shape kShape = {{"M", 5}, {"N", 7}, {"K", 12}};
const bool registered = ladder::testing::register_budget(
    "matmul_threads", "matmul", {.loads = 2 * 12, .stores = 1, .atomics = 0}, kShape);

// Arrays are found by their names in the list, without the operator's types.
TEST(Matmul, FetchesARowForEachColumn) {
  const Kernel kernel = ladder::testing::xray_of("matmul_threads", "matmul", kShape, {}, "bf16");
  EXPECT_EQ(kernel.buffer("a").loads().accesses_per_element.most, 7u);
  EXPECT_EQ(kernel.buffer("b").loads().accesses_per_element.most, 5u);
  EXPECT_EQ(kernel.buffer("c").stores().accesses_per_element.most, 1u);
}

// A kernel that stopped has done nothing, so its quotients are NaN.
TEST(Budgets, NeedSomethingThatWasCounted) {
  EXPECT_NONFATAL_FAILURE(
      ladder::testing::expect_within_budget(std::nan(""), 4, "wavefronts used, per load"),
      "nothing was counted of wavefronts used, per load");
}

}  // namespace
