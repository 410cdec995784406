#include <gtest/gtest.h>

#include "common/cuda/tiles/fragment.hpp"
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
    ladder::testing::register_bounds("attention_tensor_cores", "attention", kShape, {}, {"bf16"});

// A thread loads 21 rows of q and 37 of k and of v, eight elements at a time. It stores o likewise,
// and lse once per row. In a block each warp loads 72 groups of matrices, and no weight is stored.
const bool registered =
    ladder::testing::register_budget("attention_tensor_cores", "attention",
                                     {.loads = (21 + 2 * 37) / 21.0 / 8,
                                      .stores = 1.0 / 8 + 1.0 / 64,
                                      .atomics = 0,
                                      .counts = {{kSharedMatrixLoadRequests, 4 * 72, "block", 2},
                                                 {kSharedStoreRequests, 224, "block", 2},
                                                 {kTensorOperations, 1024, "block", 2},
                                                 {kBarriers, 2, "block", 2}}},
                                     kShape, {}, {}, "bf16");

using ladder::cuda::tiles::accumulator_place;
using FragmentA = ladder::cuda::tiles::FragmentA<ladder::bfloat16>;

// Register i of A holds registers 2 (i % 2) and the next one of the left accumulator if i < 2,
// otherwise of the right one.
TEST(AttentionTensorCores, FindsEachWeightInTheLaneThatNeedsIt) {
  for (int lane = 0; lane < 32; ++lane) {
    for (int i = 0; i < 4; ++i) {
      const auto wanted = FragmentA::place(lane, i);
      const auto first = accumulator_place(lane, i % 2 * 2);
      const auto second = accumulator_place(lane, i % 2 * 2 + 1);
      EXPECT_EQ(wanted.row, first.row);
      EXPECT_EQ(wanted.column, first.column + i / 2 * 8);
      EXPECT_EQ(second.row, first.row);
      EXPECT_EQ(second.column, first.column + 1);
    }
  }
}

// For one tile of 128 keys, 16 blocks of weights are not loaded and 256 pairs of rows of them not
// stored.
TEST(AttentionTensorCores, LeavesTheWeightsOutOfSharedMemory) {
  const Kernel before = attend("attention_matrix_loads"), after = attend("attention_tensor_cores");
  EXPECT_EQ(before[kSharedMatrixLoadRequests], 352u);
  EXPECT_EQ(after[kSharedMatrixLoadRequests], 288u);
  EXPECT_EQ(before[kSharedLoadWavefronts], 11392u);
  EXPECT_EQ(after[kSharedLoadWavefronts], 9344u);
  EXPECT_EQ(before[kSharedStoreWavefronts], 3456u);
  EXPECT_EQ(after[kSharedStoreWavefronts], 1408u);
  EXPECT_EQ(before[kSharedBytes], 80u * 1024);
  EXPECT_EQ(after[kSharedBytes], 48u * 1024);
  EXPECT_EQ(attend("attention_matrix_loads", 128)[kSharedBytes], 80u * 1024);
  EXPECT_EQ(attend("attention_tensor_cores", 128)[kSharedBytes], 64u * 1024);
  for (const Counter counter :
       {kGlobalLoadBytesMoved, kGlobalStoreBytesMoved, kShuffles, kTensorOperations, kBarriers})
    EXPECT_EQ(before[counter], after[counter]) << info(counter).name;
}

}  // namespace
