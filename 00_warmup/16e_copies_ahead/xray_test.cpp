#include "common/testing/xray.hpp"

#include <gtest/gtest.h>

namespace {

using namespace emulator::xray;

constexpr std::uint64_t kTile = 128, kDepth = 64, kTiles = 5;
constexpr std::uint64_t kUnit = 8;                                   // elements of a copy
constexpr std::uint64_t kCopies = (kTile + kTile) * kDepth / kUnit;  // of a pair of tiles

// One block with four tiles along K. Only the first tiles may be waited for at once, because no
// work precedes them.
const bool registered = ladder::testing::register_budget(
    "matmul_copies_ahead", "matmul",
    {.loads = (75 * 200 + 200 * 72) / (75.0 * 72.0 * kUnit),
     .stores = 1,
     .counts = {{kAsyncCopiesAtOnce, 1, "copy of one tile", kCopies}}},
    {{"M", 75}, {"N", 72}, {"K", 200}}, {}, {}, "bf16");

Kernel five_tiles(const char* implementation) {
  return ladder::testing::xray_of(implementation, "matmul",
                                  {{"M", kTile}, {"N", kTile}, {"K", kTiles * kDepth}}, {}, "bf16");
}

TEST(MatmulCopiesAhead, CopiesUnitsWithoutRegisters) {
  const Kernel before = five_tiles("matmul_swizzled"), after = five_tiles("matmul_copies_ahead");
  EXPECT_EQ(before[kAsyncCopies], 0u);
  EXPECT_EQ(before[kSharedStoreRequests], kTiles * kCopies / kWarpSize);
  EXPECT_EQ(after[kAsyncCopies], kTiles * kCopies);
  EXPECT_EQ(after[kAsyncCopiesAtOnce], kCopies);
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
