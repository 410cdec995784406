#include "common/testing/xray.hpp"

#include <gtest/gtest.h>

namespace {

using namespace emulator::xray;

const bool registered = ladder::testing::register_budget(
    "matmul_ldmatrix", "matmul", {.loads = (75 * 70 + 70 * 70) / (75.0 * 70.0), .stores = 1},
    {{"M", 75}, {"N", 70}, {"K", 70}}, {}, {}, "bf16");

constexpr std::uint64_t kTile = 128, kDepth = 64, kWarps = 4;
constexpr std::uint64_t kSteps =
    kWarps * kDepth / 16;  // in each a warp makes 64 x 64 x 16 products

Kernel one_tile(const char* implementation) {
  return ladder::testing::xray_of(implementation, "matmul",
                                  {{"M", kTile}, {"N", kTile}, {"K", kDepth}}, {}, "bf16");
}

TEST(LoadsFromSharedMemory, KeepsItsBudget) {
  const Kernel kernel = one_tile("matmul_ldmatrix");
  const double each =
      static_cast<double>(kernel[kSharedLoadRequests] + kernel[kSharedMatrixLoadRequests]) / kSteps;
  ladder::testing::expect_within_budget(each, 8, "loads from shared memory used, per 32 products");
}

// Four matrices of eight rows each. A row of A's tile is 128 bytes long, and one of B's 256, so all
// eight begin in the same bank.
TEST(MatmulLdmatrix, LoadsAFragmentWithOneRequestAndManyTurns) {
  const Kernel before = one_tile("matmul_tensor_tiles"), after = one_tile("matmul_ldmatrix");
  EXPECT_EQ(before[kSharedLoadRequests], kSteps * 48);
  EXPECT_EQ(after[kSharedLoadRequests], 0u);
  EXPECT_EQ(after[kSharedMatrixLoadRequests], kSteps * 8);
  EXPECT_EQ(after[kSharedLoadWavefronts], kSteps * 8 * 4 * 8);
  EXPECT_EQ(after[kSharedLoadBankConflicts], kSteps * 8 * 4 * 7);
  EXPECT_EQ(after[kSharedLoadWavefronts], before[kSharedLoadWavefronts]);
}

TEST(MatmulLdmatrix, FetchesAndMultipliesAsBefore) {
  const Kernel before = one_tile("matmul_tensor_tiles"), after = one_tile("matmul_ldmatrix");
  for (const Counter counter :
       {kGlobalLoadRequests, kGlobalLoadSectors, kGlobalStoreRequests, kGlobalStoreSectors,
        kSharedStoreRequests, kSharedStoreWavefronts, kTensorOperations, kBarriers, kSharedBytes})
    EXPECT_EQ(before[counter], after[counter]) << info(counter).name;
}

}  // namespace
