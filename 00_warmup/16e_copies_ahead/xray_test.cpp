#include "common/testing/xray.hpp"

#include <gtest/gtest.h>

namespace {

using namespace emulator::xray;

const bool registered = ladder::testing::register_budget(
    "matmul_copies_ahead", "matmul", {.loads = (75 * 201 + 201 * 70) / (75.0 * 70.0), .stores = 1},
    {{"M", 75}, {"N", 70}, {"K", 201}}, {}, {}, "bf16");

constexpr std::uint64_t kTile = 128, kDepth = 64, kTiles = 5;

Kernel five_tiles(const char* implementation) {
  return ladder::testing::xray_of(implementation, "matmul",
                                  {{"M", kTile}, {"N", kTile}, {"K", kTiles * kDepth}}, {}, "bf16");
}

TEST(MatmulCopiesAhead, CopiesUnitsWithoutRegisters) {
  const Kernel before = five_tiles("matmul_swizzled"), after = five_tiles("matmul_copies_ahead");
  EXPECT_EQ(before[kAsyncCopies], 0u);
  EXPECT_EQ(before[kSharedStoreRequests], kTiles * 2 * kTile * kDepth / 8 / kWarpSize);
  EXPECT_EQ(after[kAsyncCopies], kTiles * 2 * kTile * kDepth / 8);
  EXPECT_EQ(after[kSharedStoreRequests], 0u);
  EXPECT_EQ(after[kTensorOperations], kTiles * kTile * kTile * kDepth / 2048);
  EXPECT_EQ(after[kSharedMatrixLoadRequests], kTiles * 16 * 8);
  EXPECT_EQ(after[kBarriers], kTiles * 2);
  for (const Counter counter :
       {kGlobalLoadBytesMoved, kGlobalStoreRequests, kGlobalStoreSectors, kSharedMatrixLoadRequests,
        kSharedLoadWavefronts, kTensorOperations, kBarriers})
    EXPECT_EQ(before[counter], after[counter]) << info(counter).name;
}

}  // namespace
