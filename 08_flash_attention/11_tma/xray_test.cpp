#include <gtest/gtest.h>

#include "common/operators/attention/operator.hpp"
#include "common/testing/xray.hpp"

namespace {

using namespace emulator::xray;
using ladder::testing::xray_of;

// Two blocks of 128 queries, two tiles of 128 keys.
Kernel attend(const char* implementation) {
  return xray_of<ladder::Attention>(
      implementation, {.T_q = 256, .T_k = 256, .D = 128, .precision = ladder::Precision::kBf16});
}

// Two heads, a block each.
const ladder::Shape kShape{{"B", 1},  {"T", 37},   {"H", 2},   {"K", 64},
                           {"V", 64}, {"T_q", 21}, {"H_kv", 1}};

const bool bounds =
    ladder::testing::register_bounds("attention_tma", "attention", kShape, {}, {"bf16"});

// One panel of q, of k and of v. o is stored two elements at a time, and lse once per row. One
// barrier follows the mbarriers' init, and one is for the tile.
const bool registered =
    ladder::testing::register_budget("attention_tma", "attention",
                                     {.loads = 0,
                                      .stores = 1.0 / 2 + 1.0 / 64,
                                      .atomics = 0,
                                      .counts = {{kBulkCopies, 3, "block", 2},
                                                 {kAsyncCopies, 0, "launch", 1},
                                                 {kSharedStoreRequests, 0, "launch", 1},
                                                 {kBarriers, 2, "block", 2}}},
                                     kShape, {}, {}, "bf16");

// One thread of a block requests two panels of each tile, for q and for two tiles of k and of v.
// The other threads request nothing.
TEST(AttentionTma, AsksForBoxesInsteadOfUnits) {
  const Kernel before = attend("attention_wgmma");
  const Kernel after = attend("attention_tma");
  constexpr std::uint64_t kBytes = 2 * (128 + 256 + 256) * 128 * 2;
  EXPECT_EQ(before[kAsyncCopies], kBytes / 16);
  EXPECT_EQ(before[kBulkCopies], 0u);
  EXPECT_EQ(after[kAsyncCopies], 0u);
  EXPECT_EQ(after[kBulkCopies], 2u * 2 * 5);
  EXPECT_EQ(after[kBulkCopyBytes], kBytes);
  EXPECT_EQ(before[kGlobalLoadRequests], kBytes / 16 / 32);
  EXPECT_EQ(after[kGlobalLoadRequests], 0u);
}

// In each block one barrier after the mbarriers' init, and one for each of two tiles. The earlier
// kernel needs two for each.
TEST(AttentionTma, MeetsOnceForEachTile) {
  EXPECT_EQ(attend("attention_wgmma")[kBarriers], 2 * 4u);
  EXPECT_EQ(attend("attention_tma")[kBarriers], 2 * 3u);
}

TEST(AttentionTma, HasTwoStages) {
  constexpr std::uint64_t kTile = 128 * 128 * 2;
  EXPECT_EQ(attend("attention_wgmma")[kSharedBytes], 3 * kTile);
  // The three mbarriers, padded to the next panel's alignment.
  EXPECT_EQ(attend("attention_tma")[kSharedBytes], 5 * kTile + 1024);
}

TEST(AttentionTma, MultipliesAndStoresAsBefore) {
  const Kernel before = attend("attention_wgmma");
  const Kernel after = attend("attention_tma");
  for (const Counter counter : {kTensorOperations, kTensorMultiplyAdds, kGlobalStoreRequests,
                                kGlobalStoreBytesMoved, kSharedLoadRequests, kSharedStoreRequests})
    EXPECT_EQ(before[counter], after[counter]) << info(counter).name;
}

// With a causal mask the first 192 queries see at most 256 keys, which are two tiles, and the
// others 448, which are four.
TEST(AttentionTma, LeavesOutTilesThatNobodySees) {
  const Kernel kernel = xray_of<ladder::Attention>(
      "attention_tma",
      {.T_q = 384, .T_k = 448, .D = 64, .causal = true, .precision = ladder::Precision::kBf16});
  EXPECT_EQ(kernel[kTensorMultiplyAdds], 2u * 192 * (2 + 4) * 128 * 64);
}

}  // namespace
