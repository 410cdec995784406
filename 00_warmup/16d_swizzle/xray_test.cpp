#include "common/testing/xray.hpp"

#include <gtest/gtest.h>

namespace {

using namespace emulator::xray;

const bool registered = ladder::testing::register_budget(
    "matmul_swizzled", "matmul", {.loads = (75 * 70 + 70 * 70) / (75.0 * 70.0), .stores = 1},
    {{"M", 75}, {"N", 70}, {"K", 70}}, {}, {}, "bf16");

constexpr std::uint64_t kTile = 128, kDepth = 64, kWarps = 4;
constexpr std::uint64_t kSteps =
    kWarps * kDepth / 16;  // in each a warp makes 64 x 64 x 16 products

Kernel one_tile(const char* implementation) {
  return ladder::testing::xray_of(implementation, "matmul",
                                  {{"M", kTile}, {"N", kTile}, {"K", kDepth}}, {}, "bf16");
}

TEST(BankConflicts, KeepsItsBudget) {
  const Kernel kernel = one_tile("matmul_swizzled");
  const double each = static_cast<double>(kernel[kSharedLoadWavefronts]) /
                      static_cast<double>(kernel[kSharedMatrixLoadRequests]);
  ladder::testing::expect_within_budget(each, 4, "wavefronts used, per load of four matrices");
}

// 512 bytes are four wavefronts at best.
TEST(MatmulSwizzled, LoadsFourMatricesInFourTurns) {
  const Kernel before = one_tile("matmul_ldmatrix"), after = one_tile("matmul_swizzled");
  EXPECT_EQ(before[kSharedLoadWavefronts], kSteps * 8 * 32);
  EXPECT_EQ(after[kSharedLoadWavefronts], kSteps * 8 * 4);
  EXPECT_EQ(after[kSharedStoreWavefronts], 2 * kTile * kDepth * 2 / 128);
  EXPECT_EQ(after[kSharedLoadBankConflicts], 0u);
  EXPECT_EQ(after[kSharedStoreBankConflicts], 0u);
}

TEST(MatmulSwizzled, MovesAndMultipliesAsBefore) {
  const Kernel before = one_tile("matmul_ldmatrix"), after = one_tile("matmul_swizzled");
  for (const Counter counter :
       {kGlobalLoadRequests, kGlobalLoadSectors, kGlobalStoreRequests, kGlobalStoreSectors,
        kSharedMatrixLoadRequests, kSharedStoreRequests, kSharedStoreWavefronts, kTensorOperations,
        kBarriers, kSharedBytes})
    EXPECT_EQ(before[counter], after[counter]) << info(counter).name;
}

}  // namespace
