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

// One block of 16 columns, in which 32 lanes share two columns, with eight rows each. q and k
// contain 16 elements for each element of o, and four are copied at once. A warp reduces its 32
// sums by 31 shuffles, for 16 steps at once. With three tiles of 16 steps, both buffers are reused.
const bool registered =
    ladder::testing::register_budget("packed_causal_product", "causal_dot_product",
                                     {.loads = (16 + 16 + 1) / 4.0,
                                      .stores = 1,
                                      .atomics = 0,
                                      .counts = {{kShuffles, 31, "16 steps of a warp", 3 * 8},
                                                 {kSharedLoadRequests, 5, "step of a warp", 48 * 8},
                                                 {kSharedLoadBankConflicts, 0, "launch", 1}}},
                                     {{"B", 1}, {"T", 48}, {"H", 1}, {"K", 256}, {"V", 16}});

TEST(PackedCausalProduct, FetchesAnElementOncePerBlock) {
  const Kernel kernel = xray_of<CausalDotProduct>("packed_causal_product", kCase);
  const std::uint64_t column_blocks = 64 / 16;
  EXPECT_EQ(kernel.buffer("q").loads().accesses_per_element.most, column_blocks);
  EXPECT_EQ(kernel.buffer("k").loads().accesses_per_element.most, column_blocks);
  EXPECT_EQ(kernel.buffer("v").loads().accesses_per_element.most, 1u);
  EXPECT_EQ(kernel.buffer("o").stores().accesses_per_element.most, 1u);
}

}  // namespace
