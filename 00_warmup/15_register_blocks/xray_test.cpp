#include "common/testing/xray.hpp"

#include <gtest/gtest.h>

namespace {

using namespace emulator::xray;

// One tile of rows, two of columns: each element of A twice, each of B once.
const bool registered = ladder::testing::register_budget(
    "matmul_register_blocks", "matmul",
    {.loads = (2 * 37 * 12 + 12 * 131) / (37.0 * 131.0), .stores = 1},
    {{"M", 37}, {"N", 131}, {"K", 12}});

// One block, two tiles along K: 16 loads from shared memory for 64 multiply-adds.
Kernel one_block() {
  return ladder::testing::xray_of("matmul_register_blocks", "matmul",
                                  {{"M", 128}, {"N", 128}, {"K", 16}});
}

TEST(ReadsOfSharedMemory, KeepsItsBudget) {
  const Kernel kernel = one_block();
  // ./ladder exercise shows what this prints.
  const double each =
      static_cast<double>(kernel[kSharedLoadRequests]) * kWarpSize * 64 / (128 * 128 * 16);
  ladder::testing::expect_within_budget(each, 16,
                                        "reads of shared memory used, per 64 multiply-adds");
}

TEST(MatmulRegisterBlocks, FetchesEachElementOnceAndReadsWithoutBankConflicts) {
  const Kernel kernel = one_block();
  EXPECT_EQ(kernel[kSharedLoadWavefronts], kernel[kSharedLoadRequests]);
  EXPECT_EQ(kernel.buffer("a").loads().accesses_per_element.most, 1u);
  EXPECT_EQ(kernel.buffer("b").loads().accesses_per_element.most, 1u);
  EXPECT_EQ(kernel[kSharedLoadRequests], 128u * 128 * 16 / kWarpSize / 4);
  EXPECT_EQ(kernel[kGlobalLoadRequests], 2u * 128 * 16 / kWarpSize);
  EXPECT_EQ(kernel[kGlobalStoreRequests], 128u * 128 / kWarpSize);
  EXPECT_EQ(kernel[kSharedLoadBankConflicts], 0u);
  EXPECT_EQ(kernel[kSharedStoreBankConflicts], 128u * 16 / kWarpSize);  // four rows of A's tile
  EXPECT_EQ(kernel[kBarriers], 2u * 2);
}

}  // namespace
