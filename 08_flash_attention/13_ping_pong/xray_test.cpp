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
    ladder::testing::register_bounds("attention_ping_pong", "attention", kShape, {}, {"bf16"});

// Each block loads one panel of q, two of k and two of v. Each of three consumers issues for each
// of two tiles 4 products with k and 8 with v. o is stored two elements at a time, and lse once per
// row. The only barrier follows the mbarriers' init.
const bool registered =
    ladder::testing::register_budget("attention_ping_pong", "attention",
                                     {.loads = 0,
                                      .stores = 1.0 / 2 + 1.0 / 64,
                                      .atomics = 0,
                                      .counts = {{kBulkCopies, 5, "block", 2},
                                                 {kTensorOperations, 72, "block", 2},
                                                 {kSharedStoreRequests, 0, "launch", 1},
                                                 {kBarriers, 1, "block", 2}}},
                                     kShape, {}, {}, "bf16");

// A third stage holds a tile of k and a tile of v.
TEST(AttentionPingPong, HasAThirdStage) {
  constexpr std::uint64_t kStage = 2 * 128 * 64 * 2;
  EXPECT_EQ(attend("attention_producer")[kSharedBytes], 91136u);
  EXPECT_EQ(attend("attention_ping_pong")[kSharedBytes], 91136u + kStage);
  const Kernel wide = xray_of<ladder::Attention>(
      "attention_ping_pong", {.T_q = 1, .T_k = 1, .D = 128, .precision = ladder::Precision::kBf16});
  EXPECT_EQ(wide[kSharedBytes], 225u * 1024);
}

TEST(AttentionPingPong, MovesAndMultipliesAsBefore) {
  const Kernel before = attend("attention_producer");
  const Kernel after = attend("attention_ping_pong");
  for (const Counter counter : {kBulkCopies, kBulkCopyBytes, kGlobalStoreBytesMoved, kShuffles,
                                kTensorOperations, kTensorMultiplyAdds, kBarriers})
    EXPECT_EQ(before[counter], after[counter]) << info(counter).name;
  EXPECT_EQ(after[kBulkCopies], 2u * 7) << "q, and three tiles of k and of v";
  EXPECT_EQ(after[kBulkCopyBytes], 2u * (192 + 2 * 384) * 64 * 2);
  EXPECT_EQ(after[kTensorOperations], 2u * 3 * 3 * (4 + 8)) << "three tiles, three consumers";
}

// With a causal mask the first 192 queries see at most 256 keys, which are two tiles, and the
// others 448, which are four.
TEST(AttentionPingPong, LeavesOutTilesThatNobodySees) {
  const Kernel kernel = xray_of<ladder::Attention>(
      "attention_ping_pong",
      {.T_q = 384, .T_k = 448, .D = 64, .causal = true, .precision = ladder::Precision::kBf16});
  EXPECT_EQ(kernel[kTensorMultiplyAdds], 2u * 192 * (2 + 4) * 128 * 64);
}

// 08.13, for a learner. A turn is passed on while the consumer's own products are in flight, except
// for the very first turn.
TEST(AttentionPingPong, KeepsItsBudget) {
  const std::uint64_t late =
      ladder::testing::turns_passed_without_products(attend("attention_ping_pong"));
  ladder::testing::expect_within_budget(
      static_cast<double>(late), 1,
      "turns handed on without products on their way, attention_ping_pong");
}

}  // namespace
