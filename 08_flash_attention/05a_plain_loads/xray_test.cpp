#include <gtest/gtest.h>

#include "common/operators/attention/operator.hpp"
#include "common/testing/xray.hpp"

namespace {

using namespace emulator::xray;
using ladder::testing::xray_of;

// One block of 128 queries. A tile has 128 keys if D = 64, and 64 if D = 128.
Kernel attend(const char* implementation, std::int64_t D = 64, std::int64_t T_k = 128) {
  return xray_of<ladder::Attention>(
      implementation, {.T_q = 128, .T_k = T_k, .D = D, .precision = ladder::Precision::kBf16});
}

// Two heads, a block each.
const ladder::Shape kShape{{"B", 1},  {"T", 37},   {"H", 2},   {"K", 64},
                           {"V", 64}, {"T_q", 21}, {"H_kv", 1}};

const bool bounds =
    ladder::testing::register_bounds("attention_plain_loads", "attention", kShape, {}, {"bf16"});

// A thread loads 21 rows of q and 37 of k and of v, eight elements at a time. It stores o likewise,
// and lse once per row. In a block each warp issues 480 requests for fragments, and 8 to send o.
const bool registered =
    ladder::testing::register_budget("attention_plain_loads", "attention",
                                     {.loads = (21 + 2 * 37) / 21.0 / 8,
                                      .stores = 1.0 / 8 + 1.0 / 64,
                                      .atomics = 0,
                                      .counts = {{kSharedLoadRequests, 4 * (480 + 8), "block", 2},
                                                 {kSharedMatrixLoadRequests, 0, "launch", 1},
                                                 {kTensorOperations, 1024, "block", 2},
                                                 {kBarriers, 2, "block", 2}}},
                                     kShape, {}, {}, "bf16");

// Blocks of 16 x 16 elements of q, k, v and the weights that a warp loads.
constexpr std::uint64_t kWarps = 4, kOfQ = 8, kOfK = 32, kOfV = 32, kOfWeights = 16;
constexpr std::uint64_t kToSend = 128;  // of o, by the whole block
// A pair of each of 128 x 128 weights. The 32 lanes of a warp store 32 of them in eight rows.
constexpr std::uint64_t kWeightStores = 128 * 128 / 2 / 32;

TEST(AttentionPlainLoads, TakesFourLoadsForNeighboursInARowAndEightForNeighboursInAColumn) {
  const Kernel kernel = attend("attention_plain_loads");
  EXPECT_EQ(kernel[kSharedLoadRequests],
            kWarps * (4 * (kOfQ + kOfK + kOfWeights) + 8 * kOfV) + kToSend / 4);
  EXPECT_EQ(kernel[kSharedLoadRequests], 1952u);
  EXPECT_EQ(kernel[kSharedMatrixLoadRequests], 0u);
  EXPECT_EQ(kernel[kTensorOperations], 1024u);
  EXPECT_EQ(kernel[kBarriers], 2u);
}

// Four loads of eight rows that begin in the same bank, or eight loads of four rows.
TEST(AttentionPlainLoads, TakesThirtyTwoTurnsForABlock) {
  const Kernel kernel = attend("attention_plain_loads");
  EXPECT_EQ(kernel[kSharedLoadWavefronts],
            kWarps * 32 * (kOfQ + kOfK + kOfV + kOfWeights) + kToSend);
  EXPECT_EQ(kernel[kSharedLoadWavefronts], 11392u);
}

// Weights are stored once, each with its right neighbour, and no score is stored in global memory.
TEST(AttentionPlainLoads, TakesTheWeightsThroughSharedMemory) {
  const Kernel kernel = attend("attention_plain_loads"), after = attend("attention_tensor_cores");
  EXPECT_EQ(kernel[kSharedStoreRequests] - after[kSharedStoreRequests], kWeightStores);
  EXPECT_EQ(kernel[kSharedStoreWavefronts] - after[kSharedStoreWavefronts], 8 * kWeightStores);
  EXPECT_EQ(kernel[kSharedStoreWavefronts], 3456u);
  EXPECT_EQ(kernel[kSharedBytes] - after[kSharedBytes], 128u * 128 * 2);
  EXPECT_EQ(kernel[kSharedBytes], 80u * 1024);
  EXPECT_EQ(kernel.buffers.size(), 5u) << "q, k, v, o and lse";
}

// The values of lesson 04, and the counters that get worse.
TEST(AttentionPlainLoads, AsksLessOfSharedMemoryThanTheScalarTiles) {
  const Kernel before = attend("attention_scalar_tiles"), after = attend("attention_plain_loads");
  EXPECT_EQ(before[kSharedLoadRequests], 7424u);
  EXPECT_EQ(before[kSharedLoadWavefronts], 16640u);
  EXPECT_EQ(before[kSharedStoreWavefronts], 2048u);
  EXPECT_EQ(before[kSharedLoadBankConflicts] + before[kSharedStoreBankConflicts], 0u);
  EXPECT_EQ(after[kSharedLoadBankConflicts] + after[kSharedStoreBankConflicts], 12032u);
  EXPECT_EQ(before[kShuffles], 768u);
  EXPECT_EQ(after[kShuffles], 64u);
  EXPECT_EQ(before[kBarriers], 16u);
  EXPECT_EQ(before[kTensorOperations], 0u);
  EXPECT_EQ(after[kTensorMultiplyAdds], 128u * 128 * 64 * 2);
}

// With D = 128, the counts that a second tile of 64 keys adds, which the page's prediction
// contains.
TEST(AttentionPlainLoads, TakesForATileWhatThePageCounts) {
  const auto added = [](const char* name, Counter counter) {
    return attend(name, 128, 128)[counter] - attend(name, 128, 64)[counter];
  };
  EXPECT_EQ(added("attention_plain_loads", kSharedLoadWavefronts) +
                added("attention_plain_loads", kSharedStoreWavefronts),
            12544u);
  EXPECT_EQ(added("attention_tensor_cores", kSharedLoadWavefronts) +
                added("attention_tensor_cores", kSharedStoreWavefronts),
            10496u);
}

}  // namespace
