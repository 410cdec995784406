#include "common/testing/xray.hpp"

#include <gtest/gtest.h>

namespace {

using namespace emulator::xray;

// One tile of rows and two of columns, each with two tiles along K, and eight warps that walk
// through 16 columns and rows. A load of 16 bytes counts once.
const bool registered =
    ladder::testing::register_budget("matmul_wide_loads", "matmul",
                                     {.loads = (2 * 37 * 12 + 12 * 132) / 4 / (37.0 * 132.0),
                                      .stores = 1.0 / 4,
                                      .counts = {{kSharedLoadRequests, 4, "step of a warp", 256},
                                                 {kSharedLoadBankConflicts, 0, "tile", 4},
                                                 {kSharedStoreRequests, 5, "tile of a warp", 32},
                                                 {kSharedStoreBankConflicts, 0, "tile", 4},
                                                 {kBarriers, 2, "tile", 4}}},
                                     {{"M", 37}, {"N", 132}, {"K", 12}});

const bool bounds = ladder::testing::register_bounds("matmul_wide_loads", "matmul",
                                                     {{"M", 37}, {"N", 131}, {"K", 13}});

// One block, two tiles along K.
Kernel one_block(const char* implementation) {
  return ladder::testing::xray_of(implementation, "matmul", {{"M", 128}, {"N", 128}, {"K", 16}});
}

// 64 FMAs of a thread need four loads of 16 bytes, not sixteen of four.
TEST(MatmulWideLoads, AsksAQuarterAsOften) {
  const Kernel before = one_block("matmul_register_blocks"), after = one_block("matmul_wide_loads");
  for (const Counter counter : {kSharedLoadRequests, kGlobalLoadRequests, kGlobalStoreRequests})
    EXPECT_EQ(after[counter] * 4, before[counter]) << info(counter).name;
  EXPECT_EQ(after[kSharedLoadRequests], 128u * 128 * 16 / kWarpSize / 16);
  EXPECT_EQ(after[kGlobalLoadRequests], 2u * 128 * 16 / 4 / kWarpSize);
  EXPECT_EQ(after[kGlobalStoreRequests], 128u * 128 / 4 / kWarpSize);
  EXPECT_EQ(before[kSharedStoreRequests], 128u);
  EXPECT_EQ(after[kSharedStoreRequests], 80u);
  EXPECT_EQ(before[kSharedStoreBankConflicts], 64u);
  EXPECT_EQ(before[kGlobalStoreBytesMoved], 4u * 4 * 128 * 128);
  EXPECT_EQ(before[kSharedLoadWavefronts], 2 * after[kSharedLoadWavefronts]);
  EXPECT_EQ(before[kBarriers], 4u);
  EXPECT_EQ(after[kBarriers], 4u);
}

TEST(MatmulWideLoads, TakesTwoWavefrontsForALoadAndHasNoBankConflict) {
  const Kernel kernel = one_block("matmul_wide_loads");
  EXPECT_EQ(kernel[kSharedLoadWavefronts], 2 * kernel[kSharedLoadRequests]);
  EXPECT_EQ(kernel[kSharedLoadBankConflicts], 0u);
  EXPECT_EQ(kernel[kSharedStoreBankConflicts], 0u);
  EXPECT_EQ(kernel[kGlobalLoadBytesMoved], kernel[kGlobalLoadBytesAsked]);
  EXPECT_EQ(kernel[kGlobalStoreBytesMoved], kernel[kGlobalStoreBytesAsked]);
}

}  // namespace
