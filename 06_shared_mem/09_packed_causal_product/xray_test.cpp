#include <gtest/gtest.h>

#include "common/operators/linear_attention/operator.hpp"
#include "common/testing/xray.hpp"

namespace {

using namespace emulator::xray;
using ladder::CausalDotProduct;
using ladder::testing::xray_of;

const ladder::LinearAttentionCase kCase =
    CausalDotProduct::make_case({.B = 1, .T = 40, .H = 2, .K = 64, .V = 64});

const bool bounds = ladder::testing::register_bounds("packed_causal_product", "linear_attention");

TEST(PackedCausalProduct, FetchesAnElementOncePerBlock) {
  const Kernel kernel = xray_of<CausalDotProduct>("packed_causal_product", kCase);
  const std::uint64_t column_blocks = 64 / 16;
  EXPECT_EQ(kernel.buffer("q").loads().accesses_per_element.most, column_blocks);
  EXPECT_EQ(kernel.buffer("k").loads().accesses_per_element.most, column_blocks);
  EXPECT_EQ(kernel.buffer("v").loads().accesses_per_element.most, 1u);
  EXPECT_EQ(kernel.buffer("o").stores().accesses_per_element.most, 1u);
}

}  // namespace
