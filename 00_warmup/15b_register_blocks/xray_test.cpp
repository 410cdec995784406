#include "common/testing/xray.hpp"

#include <gtest/gtest.h>

namespace {

using namespace emulator::xray;

// One tile of rows and two of columns, so each element of A is loaded twice and each of B once.
const bool registered = ladder::testing::register_budget(
    "matmul_register_blocks", "matmul",
    {.loads = (2 * 37 * 12 + 12 * 131) / (37.0 * 131.0), .stores = 1},
    {{"M", 37}, {"N", 131}, {"K", 12}});

// One block with four tiles along K, and 16 loads from shared memory for 64 FMAs.
constexpr std::uint64_t kTile = 128, kK = 32, kMultiplyAdds = kTile * kTile * kK / kWarpSize;

Kernel one_block(const char* implementation) {
  return ladder::testing::xray_of(implementation, "matmul",
                                  {{"M", kTile}, {"N", kTile}, {"K", kK}});
}

TEST(ReadsOfSharedMemory, KeepsItsBudget) {
  const Kernel kernel = one_block("matmul_register_blocks");
  // ./ladder exercise shows this output.
  const double each = 64.0 * static_cast<double>(kernel[kSharedLoadRequests]) / kMultiplyAdds;
  ladder::testing::expect_within_budget(each, 16,
                                        "reads of shared memory used, per 64 multiply-adds");
}

TEST(MatmulRegisterBlocks, ReadsSharedMemorySixteenTimesFor64MultiplyAdds) {
  const Kernel before = one_block("matmul_eight_results"),
               after = one_block("matmul_register_blocks");
  EXPECT_EQ(before[kSharedLoadRequests], kMultiplyAdds * 9 / 8);
  EXPECT_EQ(after[kSharedLoadRequests], kMultiplyAdds / 4);
  EXPECT_EQ(after[kSharedLoadWavefronts], after[kSharedLoadRequests]);
  for (const char* const array : {"a", "b"}) {
    EXPECT_EQ(before.buffer(array).loads().accesses_per_element.most, 2u);
    EXPECT_EQ(after.buffer(array).loads().accesses_per_element.most, 1u);
  }
  EXPECT_EQ(after[kGlobalLoadRequests], 2 * kTile * kK / kWarpSize);
  EXPECT_EQ(before[kBarriers], 8u);
  EXPECT_EQ(after[kBarriers], 8u);
  EXPECT_EQ(before[kSharedLoadBankConflicts], 0u);
  EXPECT_EQ(after[kSharedLoadBankConflicts], 0u);
}

// Counters that are worse than before.
TEST(MatmulRegisterBlocks, StoresWithConflictsAndToSixteenSectors) {
  const Kernel before = one_block("matmul_eight_results"),
               after = one_block("matmul_register_blocks");
  EXPECT_EQ(before[kSharedStoreBankConflicts], 0u);
  EXPECT_EQ(after[kSharedStoreBankConflicts], kTile * kK / kWarpSize);  // each store of A's tile
  EXPECT_EQ(before[kGlobalStoreSectors], before[kGlobalStoreRequests] * 4);
  EXPECT_EQ(after[kGlobalStoreSectors], after[kGlobalStoreRequests] * 16);
}

}  // namespace
