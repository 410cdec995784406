#include <gtest/gtest.h>

#include "common/operators/linear_attention/operator.hpp"
#include "common/testing/xray.hpp"

namespace {

using namespace emulator::xray;
using ladder::CausalDotProduct;
using ladder::testing::xray_of;

const bool bounds = ladder::testing::register_bounds("causal_dot_product", "causal_dot_product");

// A strip of 8 key rows adds its part of o. There are K / 8 strips, each with its rows of q and k,
// and v. Each of its two warps reads and writes a row of kv_smem once per step, and clears it
// before the first.
constexpr std::int64_t kWarpsRows = 2 * 3 * 64 * 2;  // of B H K rows, two warps each
const bool registered = ladder::testing::register_budget(
    "causal_dot_product", "causal_dot_product",
    {.loads = 2 * 64 + 64 / 8,
     .stores = 0,
     .atomics = 64 / 8,
     .host_bytes = 4,
     .counts = {
         {kSharedLoadRequests, 5, "key row of a warp in 5 steps", kWarpsRows},
         {kSharedStoreRequests, 5 + 1, "key row of a warp in 5 steps, cleared once", kWarpsRows}}});

TEST(CausalDotProduct, AddsOnceForEachStrip) {
  const ladder::LinearAttentionSizes s{.B = 2, .T = 5, .H = 3, .K = 100, .V = 37};
  const Kernel kernel =
      xray_of<CausalDotProduct>("causal_dot_product", CausalDotProduct::make_case(s));
  const std::uint64_t strips = (100 + 7) / 8;
  EXPECT_EQ(kernel[kAtomics], strips * s.B * s.T * s.H * s.V);
  EXPECT_EQ(kernel.buffer("o").atomics().accesses_per_element.most, strips);
  EXPECT_EQ(kernel.buffer("v").loads().accesses_per_element.most, strips);
}

TEST(CausalDotProduct, ConflictsInNoBankAndNeedsNoBarrier) {
  const ladder::LinearAttentionSizes s{.B = 1, .T = 5, .H = 2, .K = 64, .V = 64};
  const Kernel kernel =
      xray_of<CausalDotProduct>("causal_dot_product", CausalDotProduct::make_case(s));
  EXPECT_GT(kernel[kSharedLoadRequests], 0u);
  EXPECT_EQ(kernel[kSharedLoadBankConflicts], 0u);
  EXPECT_EQ(kernel[kSharedStoreBankConflicts], 0u);
  EXPECT_EQ(kernel[kBarriers], 0u);
}

}  // namespace
