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
    ladder::testing::register_bounds("attention_matrix_loads", "attention", kShape, {}, {"bf16"});

// A thread loads 21 rows of q and 37 of k and of v, eight elements at a time. It stores o likewise,
// and lse once per row. In a block each warp loads 88 groups of matrices.
const bool registered =
    ladder::testing::register_budget("attention_matrix_loads", "attention",
                                     {.loads = (21 + 2 * 37) / 21.0 / 8,
                                      .stores = 1.0 / 8 + 1.0 / 64,
                                      .atomics = 0,
                                      .counts = {{kSharedMatrixLoadRequests, 4 * 88, "block", 2},
                                                 {kTensorOperations, 1024, "block", 2},
                                                 {kBarriers, 2, "block", 2}}},
                                     kShape, {}, {}, "bf16");

// Each of four warps needs one load for each 16 x 16 elements of q, k, v and the weights, and 32
// plain loads to send o, as before.
TEST(AttentionMatrixLoads, LoadsABlockAtOnce) {
  const Kernel kernel = attend("attention_matrix_loads");
  EXPECT_EQ(kernel[kSharedMatrixLoadRequests], 4u * (8 + 32 + 32 + 16));
  EXPECT_EQ(kernel[kSharedLoadRequests], 32u);
}

TEST(AttentionMatrixLoads, TakesAsManyTurnsAsBefore) {
  for (const std::int64_t D : {64, 128}) {
    const Kernel before = attend("attention_plain_loads", D);
    const Kernel after = attend("attention_matrix_loads", D);
    EXPECT_EQ(before[kSharedLoadWavefronts], after[kSharedLoadWavefronts]) << D;
  }
}

TEST(AttentionMatrixLoads, StoresAndMultipliesAsBefore) {
  const Kernel before = attend("attention_plain_loads"), after = attend("attention_matrix_loads");
  for (const Counter counter :
       {kGlobalLoadRequests, kGlobalLoadBytesMoved, kGlobalStoreRequests, kGlobalStoreBytesMoved,
        kSharedStoreRequests, kSharedStoreWavefronts, kSharedBytes, kShuffles, kTensorOperations,
        kBarriers})
    EXPECT_EQ(before[counter], after[counter]) << info(counter).name;
}

}  // namespace
