#include <gtest/gtest.h>

#include "common/operators/attention/operator.hpp"
#include "common/testing/xray.hpp"

namespace {

using namespace emulator::xray;
using ladder::testing::xray_of;

// Two blocks of 192 queries of 64 channels, each with three tiles of 128 keys.
Kernel attend(const char* implementation) {
  return xray_of<ladder::Attention>(
      implementation, {.T_q = 384, .T_k = 384, .D = 64, .precision = ladder::Precision::kBf16});
}

// Two heads with a block each, and two tiles of keys.
const ladder::Shape kShape{{"B", 1},  {"T", 150},  {"H", 2},   {"K", 64},
                           {"V", 64}, {"T_q", 21}, {"H_kv", 1}};

const bool bounds =
    ladder::testing::register_bounds("attention_producer", "attention", kShape, {}, {"bf16"});

// Each block loads one panel of q, two of k and two of v. Each of three consumers issues for each
// of two tiles 4 products with k and 8 with v. o is stored two elements at a time, and lse once per
// row. The only barrier follows the mbarriers' init.
const bool registered =
    ladder::testing::register_budget("attention_producer", "attention",
                                     {.loads = 0,
                                      .stores = 1.0 / 2 + 1.0 / 64,
                                      .atomics = 0,
                                      .counts = {{kBulkCopies, 5, "block", 2},
                                                 {kTensorOperations, 72, "block", 2},
                                                 {kSharedStoreRequests, 0, "launch", 1},
                                                 {kBarriers, 1, "block", 2}}},
                                     kShape, {}, {}, "bf16");

// In each block. The earlier kernel needs one, and one for each tile.
TEST(AttentionProducer, MeetsOnce) {
  EXPECT_EQ(attend("attention_tma")[kBarriers], 2u * (1 + 3));
  EXPECT_EQ(attend("attention_producer")[kBarriers], 2u);
}

// One warpgroup in addition to those that multiply.
TEST(AttentionProducer, HasAWarpgroupThatCopies) {
  EXPECT_EQ(attend("attention_tma").block.x, 3u * 128);
  EXPECT_EQ(attend("attention_producer").block.x, (1u + 3) * 128);
}

TEST(AttentionProducer, MovesAndMultipliesAsBefore) {
  const Kernel before = attend("attention_tma");
  const Kernel after = attend("attention_producer");
  for (const Counter counter : {kBulkCopies, kBulkCopyBytes, kGlobalStoreBytesMoved, kShuffles,
                                kTensorOperations, kTensorMultiplyAdds, kSharedBytes})
    EXPECT_EQ(before[counter], after[counter]) << info(counter).name;
  EXPECT_EQ(after[kBulkCopies], 2u * 7) << "q, and three tiles of k and of v";
  EXPECT_EQ(after[kBulkCopyBytes], 2u * (192 + 2 * 384) * 64 * 2);
  EXPECT_EQ(after[kTensorOperations], 2u * 3 * 3 * (4 + 8)) << "three tiles, three consumers";
}

// With a causal mask the first 192 queries see at most 256 keys, which are two tiles, and the
// others 448, which are four.
TEST(AttentionProducer, LeavesOutTilesThatNobodySees) {
  const Kernel kernel = xray_of<ladder::Attention>(
      "attention_producer",
      {.T_q = 384, .T_k = 448, .D = 64, .causal = true, .precision = ladder::Precision::kBf16});
  EXPECT_EQ(kernel[kTensorMultiplyAdds], 2u * 192 * (2 + 4) * 128 * 64);
}

}  // namespace
