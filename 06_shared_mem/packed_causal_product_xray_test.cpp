#include <gtest/gtest.h>

#include "common/testing/xray.hpp"

namespace {

using namespace emulator::xray;
using ladder::testing::xray_of;

const ladder::bench::Shape kShape{.B = 1, .T = 40, .H = 2, .K = 64, .V = 64};

TEST(PackedCausalProduct, FetchesAnElementOncePerBlock) {
  const Kernel kernel =
      xray_of("packed_causal_product", {.op = "causal_dot_product", .shape = kShape});
  const std::uint64_t column_blocks = 64 / 16;
  EXPECT_EQ(kernel.buffer("q").loads().accesses_per_element.most, column_blocks);
  EXPECT_EQ(kernel.buffer("k").loads().accesses_per_element.most, column_blocks);
  EXPECT_EQ(kernel.buffer("v").loads().accesses_per_element.most, 1u);
  EXPECT_EQ(kernel.buffer("o").stores().accesses_per_element.most, 1u);
}

TEST(PrefixCausalProduct, ConflictsInNoBankAndStoresOnce) {
  const Kernel kernel =
      xray_of("prefix_causal_product", {.op = "causal_dot_product", .shape = kShape});
  EXPECT_EQ(kernel.buffer("q").loads().accesses_per_element.most, 64u / 8);
  EXPECT_EQ(kernel.buffer("o").stores().accesses_per_element.most, 1u);
  EXPECT_GT(kernel[kSharedLoadRequests], 0u);
  EXPECT_EQ(kernel[kSharedLoadBankConflicts] + kernel[kSharedStoreBankConflicts], 0u);
  EXPECT_EQ(kernel[kAtomics], 0u);
}

}  // namespace
