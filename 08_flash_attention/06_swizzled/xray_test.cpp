#include <gtest/gtest.h>

#include "common/operators/attention/operator.hpp"
#include "common/testing/xray.hpp"

namespace {

using namespace emulator::xray;
using ladder::testing::xray_of;

// One block of 128 queries. A tile has 128 keys if D = 64, and 64 if D = 128.
Kernel attend(const char* implementation, std::int64_t D = 64) {
  return xray_of<ladder::Attention>(
      implementation, {.T_q = 128, .T_k = 128, .D = D, .precision = ladder::Precision::kBf16});
}

std::uint64_t wavefronts_of_matrix_loads(const Kernel& kernel) {
  std::uint64_t wavefronts = 0;
  for (const Access& access : kernel.accesses) {
    if (access.code.find("load_matrices") != std::string::npos) wavefronts += access.wavefronts;
  }
  return wavefronts;
}

// Two heads with a block each, and two tiles of keys, the second with 12, so that every buffer is
// used again.
const ladder::Shape kShape{{"B", 1},  {"T", 140},  {"H", 2},   {"K", 64},
                           {"V", 64}, {"T_q", 21}, {"H_kv", 1}};

const bool bounds =
    ladder::testing::register_bounds("attention_swizzled", "attention", kShape, {}, {"bf16"});

// A thread loads 21 rows of q and 140 of k and of v, eight elements at a time. It stores o
// likewise, and lse once per row.
const bool registered =
    ladder::testing::register_budget("attention_swizzled", "attention",
                                     {.loads = (21 + 2 * 140) / 21.0 / 8,
                                      .stores = 1.0 / 8 + 1.0 / 64,
                                      .atomics = 0,
                                      .counts = {{kSharedLoadBankConflicts, 0, "launch", 1},
                                                 {kSharedStoreBankConflicts, 0, "launch", 1},
                                                 {kBarriers, 2, "tile", 4}}},
                                     kShape, {}, {}, "bf16");

// Four 8 x 8 matrices are 512 bytes, which needs at least four wavefronts. With rows of 128 bytes
// all eight rows begin in the same bank.
TEST(AttentionTensorCores, LoadsEachRowOfAMatrixInATurnOfItsOwn) {
  const Kernel kernel = attend("attention_tensor_cores");
  EXPECT_EQ(kernel[kSharedMatrixLoadRequests], 288u);
  EXPECT_EQ(wavefronts_of_matrix_loads(kernel), 8 * 4 * kernel[kSharedMatrixLoadRequests]);
  EXPECT_EQ(kernel[kSharedLoadWavefronts], 9344u);
  EXPECT_EQ(kernel[kSharedStoreWavefronts], 1408u);
  EXPECT_EQ(kernel[kSharedLoadBankConflicts], 8064u);
  EXPECT_EQ(kernel[kSharedStoreBankConflicts], 896u);
}

TEST(AttentionTensorCores, KeepsNoScoresInMemory) {
  const Kernel kernel = attend("attention_tensor_cores");
  EXPECT_EQ(kernel.buffers.size(), 5u) << "q, k, v, o and lse";
  EXPECT_EQ(kernel[kGlobalStoreBytesMoved], 128u * 64 * 2 + 128 * sizeof(float));
}

TEST(AttentionSwizzled, LoadsAMatrixInOneTurn) {
  const Kernel kernel = attend("attention_swizzled");
  EXPECT_EQ(wavefronts_of_matrix_loads(kernel), 4 * kernel[kSharedMatrixLoadRequests]);
  EXPECT_EQ(kernel[kSharedLoadWavefronts], 1280u);
  EXPECT_EQ(kernel[kSharedStoreWavefronts], 512u);
}

TEST(AttentionSwizzled, ConflictsInNoBank) {
  for (const std::int64_t D : {64, 128}) {
    for (const Access& access : attend("attention_swizzled", D).accesses)
      EXPECT_EQ(access.bank_conflicts, 0u) << "D = " << D << ": " << access.code;
  }
}

// Two tiles of 64 keys at D = 128. The page's estimate counts one tile.
TEST(AttentionSwizzled, TakesForATileWhatThePageCounts) {
  const Kernel before = attend("attention_tensor_cores", 128);
  const Kernel after = attend("attention_swizzled", 128);
  constexpr std::uint64_t kLoads = 2 * 320, kTiles = 2 * 256, kQueries = 256, kOutputs = 256;
  EXPECT_EQ(after[kSharedMatrixLoadRequests], kLoads);
  EXPECT_EQ(wavefronts_of_matrix_loads(before), kLoads * 32);
  EXPECT_EQ(wavefronts_of_matrix_loads(after), kLoads * 4);
  EXPECT_EQ(after[kSharedStoreWavefronts], kTiles + kQueries + kOutputs);
}

// Only the indices have changed. The same loads and stores move the same bytes of global and shared
// memory.
TEST(AttentionSwizzled, MovesAndMultipliesAsBefore) {
  const Kernel before = attend("attention_tensor_cores"), after = attend("attention_swizzled");
  for (const Counter counter :
       {kGlobalLoadRequests, kGlobalLoadSectors, kGlobalLoadBytesMoved, kGlobalStoreRequests,
        kGlobalStoreBytesMoved, kSharedLoadRequests, kSharedMatrixLoadRequests,
        kSharedStoreRequests, kSharedBytes, kAsyncCopies, kTensorOperations, kBarriers})
    EXPECT_EQ(before[counter], after[counter]) << info(counter).name;
}

}  // namespace
