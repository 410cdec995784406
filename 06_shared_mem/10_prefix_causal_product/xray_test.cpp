#include <gtest/gtest.h>

#include "common/operators/linear_attention/operator.hpp"
#include "common/testing/xray.hpp"

namespace {

using namespace emulator::xray;
using ladder::CausalDotProduct;
using ladder::testing::xray_of;

const ladder::Shape kShape{{"B", 1}, {"T", 40}, {"H", 2}, {"K", 64}, {"V", 64}};

const bool bounds = ladder::testing::register_bounds("prefix_causal_product", "linear_attention");

// Eight blocks of 8 columns load all of q and k, two rows at once. All 32 lanes of a warp load the
// same v, four columns at once. A block of eight warps needs one iteration for 40 steps. Its sums
// are 8 columns x 64 rows per warp, 16 requests of a warp. They are stored, then loaded and stored
// by the scan, then loaded.
constexpr std::int64_t kBlocks = 2 * 64 / 8, kRequests = 8 * 16;
const bool registered = ladder::testing::register_budget(
    "prefix_causal_product", "causal_dot_product",
    {.loads = 8 / 2 + 8 / 2 + 32 / 4,
     .stores = 1 / 2.0,
     .atomics = 0,
     .counts = {{kSharedLoadRequests, 2 * kRequests, "block", kBlocks},
                {kSharedStoreRequests, 2 * kRequests, "block", kBlocks},
                {kBarriers, 2, "block", kBlocks},
                {kSharedLoadBankConflicts, 0, "launch", 1},
                {kSharedStoreBankConflicts, 0, "launch", 1}}},
    kShape);

TEST(PrefixCausalProduct, ConflictsInNoBankAndStoresOnce) {
  const Kernel kernel = xray_of<CausalDotProduct>(
      "prefix_causal_product",
      CausalDotProduct::make_case({.B = 1, .T = 40, .H = 2, .K = 64, .V = 64}));
  EXPECT_EQ(kernel.buffer("q").loads().accesses_per_element.most, 64u / 8);
  EXPECT_EQ(kernel.buffer("o").stores().accesses_per_element.most, 1u);
  EXPECT_EQ(kernel[kSharedLoadRequests], std::uint64_t{2 * kRequests * kBlocks});
  EXPECT_EQ(kernel[kSharedLoadBankConflicts] + kernel[kSharedStoreBankConflicts], 0u);
  EXPECT_EQ(kernel[kAtomics], 0u);
}

// The table of the page, with one iteration of 64 steps, or two tiles of 32.
TEST(PrefixCausalProduct, CountsWhatThePageSays) {
  const ladder::LinearAttentionCase c =
      CausalDotProduct::make_case({.B = 1, .T = 64, .H = 1, .K = 64, .V = 64});
  const Kernel prefix = xray_of<CausalDotProduct>("prefix_causal_product", c);
  EXPECT_EQ(prefix.buffer("k").loads().accesses_per_element.most, 8u);
  EXPECT_EQ(prefix.buffer("v").loads().accesses_per_element.most, 32u);
  EXPECT_EQ(prefix[kBarriers], 8u * 2);
  EXPECT_EQ(prefix[kSharedLoadBankConflicts], 0u);
  const Kernel packed = xray_of<CausalDotProduct>("packed_causal_product", c);
  EXPECT_EQ(packed.buffer("k").loads().accesses_per_element.most, 4u);
  EXPECT_EQ(packed.buffer("v").loads().accesses_per_element.most, 1u);
  EXPECT_EQ(packed[kBarriers], 4u * 2 * 2);
  EXPECT_EQ(packed[kSharedLoadBankConflicts], 0u);
}

}  // namespace
