#include <gtest/gtest.h>

#include "common/operators/attention/operator.hpp"
#include "common/testing/xray.hpp"

namespace {

using namespace emulator::xray;
using ladder::testing::xray_of;

// Blocks of 128 queries, with tiles of 128 keys if D = 64, and of 64 if D = 128.
Kernel attend(std::int64_t T, std::int64_t D, bool causal = false) {
  return xray_of<ladder::Attention>(
      "attention_pipelined",
      {.T_q = T, .T_k = T, .D = D, .causal = causal, .precision = ladder::Precision::kBf16});
}

// Two heads with a block each, and two tiles of keys, the second with 12, so that every buffer is
// used again.
const ladder::Shape kShape{{"B", 1},  {"T", 140},  {"H", 2},   {"K", 64},
                           {"V", 64}, {"T_q", 21}, {"H_kv", 1}};

const bool bounds =
    ladder::testing::register_bounds("attention_pipelined", "attention", kShape, {}, {"bf16"});

// A tile has 128 rows of eight 16-byte vectors here. Each block copies q and two tiles each of k
// and of v, including out-of-bounds rows. Only the copies of q and of the first keys may be waited
// for at once, because there is no work before them.
constexpr std::int64_t kUnits = 2 * 5 * 128 * 8, kFirstUnits = 2 * 2 * 128 * 8;

// A thread loads 21 rows of q and 140 of k and of v, eight elements at a time. It stores o
// likewise, and lse once per row.
const bool registered = ladder::testing::register_budget(
    "attention_pipelined", "attention",
    {.loads = (21 + 2 * 140) / 21.0 / 8,
     .stores = 1.0 / 8 + 1.0 / 64,
     .atomics = 0,
     .counts = {{kAsyncCopies, 1, "unit of a tile", kUnits},
                {kAsyncCopiesAtOnce, 1, "unit of a block's first tiles", kFirstUnits},
                {kBarriers, 2, "tile", 4}}},
    kShape, {}, {}, "bf16");

// The stored bytes grow with T, not with its square, and there is no other memory for the scores.
TEST(AttentionPipelined, KeepsNoScoresInMemory) {
  for (const std::uint64_t T : {128, 256}) {
    const Kernel kernel = attend(T, 64);
    const std::uint64_t tensor = T * 64 * 2, blocks = T / 128;
    EXPECT_EQ(kernel.buffers.size(), 5u) << "q, k, v, o and lse";
    EXPECT_EQ(kernel[kGlobalLoadBytesMoved], tensor + blocks * 2 * tensor);
    EXPECT_EQ(kernel[kGlobalStoreBytesMoved], tensor + T * sizeof(float));
    EXPECT_EQ(kernel.buffer("o").stores().accesses_per_element.most, 1u);
  }
}

TEST(AttentionPipelined, ReadsKeysAndValuesOncePerBlockOfQueries) {
  const Kernel kernel = attend(256, 64);
  EXPECT_EQ(kernel.buffer("q").loads().accesses_per_element.most, 1u);
  for (const char* name : {"k", "v"}) {
    EXPECT_EQ(kernel.buffer(name).loads().accesses_per_element.least, 2u);
    EXPECT_EQ(kernel.buffer(name).loads().accesses_per_element.most, 2u);
  }
}

TEST(AttentionPipelined, MovesTilesAsynchronously) {
  EXPECT_EQ(attend(128, 64)[kAsyncCopies], 3u * 128 * 64 / 8) << "8 elements each";
}

// Two blocks. There is no work before q and the first keys. V arrives during the product with K,
// and the next K during the product with V.
TEST(AttentionPipelined, ComputesWhileCopiesAreOnTheirWay) {
  constexpr std::uint64_t kUnits = 128 / 8, kQueries = 128, kKeys = 64;
  EXPECT_EQ(attend(256, 128)[kAsyncCopiesAtOnce], 2 * (kQueries + kKeys) * kUnits);
}

// Two blocks of 128 queries and four tiles of 64 keys are eight pairs, or six with a causal mask.
// Each pair needs two products.
TEST(AttentionPipelined, ComputesOnTensorCoresAndNothingBehindTheDiagonal) {
  constexpr std::uint64_t kTile = 2 * 128 * 64 * 128;
  EXPECT_EQ(attend(256, 128)[kTensorMultiplyAdds], 8 * kTile);
  EXPECT_EQ(attend(256, 128, true)[kTensorMultiplyAdds], 6 * kTile);
}

TEST(AttentionPipelined, ConflictsInNoBank) {
  for (const std::int64_t D : {32, 64, 96, 128, 256}) {
    const Kernel kernel = attend(64, D);
    EXPECT_GT(kernel[kSharedMatrixLoadRequests], 0u);
    for (const Access& access : kernel.accesses)
      EXPECT_EQ(access.bank_conflicts, 0u) << "D = " << D << ": " << access.code;
  }
}

// One barrier before V's copies begin and K is read, one before K's copies begin and V is read.
TEST(AttentionPipelined, TakesTwoBarriersPerTile) {
  EXPECT_EQ(attend(256, 128)[kBarriers], 2u * 2 * 4);
}

// Copies of q once, and for each of two blocks of queries only of the tiles of 64 keys up to the
// diagonal.
TEST(AttentionPipelined, FetchesNothingBehindTheDiagonal) {
  constexpr std::uint64_t kUnitsOfRow = 128 / 8;
  EXPECT_EQ(attend(256, 128, true)[kAsyncCopies], (256 + 2 * (2 + 4) * 64) * kUnitsOfRow);
}

}  // namespace
