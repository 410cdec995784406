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
  for (const Counter counter :
       {kGlobalLoadBytesMoved, kGlobalStoreRequests, kGlobalStoreSectors, kSharedMatrixLoadRequests,
        kSharedLoadWavefronts, kTensorOperations, kBarriers})
    EXPECT_EQ(before[counter], after[counter]) << info(counter).name;
}

// A stage is a tile of A and one of B.
TEST(MatmulCopiesAhead, TakesSharedMemoryForEachStage) {
  constexpr std::uint64_t kStageBytes = 2 * kTile * kDepth * 2;
  EXPECT_EQ(five_tiles("matmul_one_stage")[kSharedBytes], 1 * kStageBytes);
  EXPECT_EQ(five_tiles("matmul_two_stages")[kSharedBytes], 2 * kStageBytes);
  EXPECT_EQ(five_tiles("matmul_three_stages")[kSharedBytes], 3 * kStageBytes);
  EXPECT_EQ(five_tiles("matmul_four_stages")[kSharedBytes], 4 * kStageBytes);
}

// How far ahead the copies are changes neither what is moved nor what is multiplied.
TEST(MatmulCopiesAhead, DoesTheSameAtEachDepth) {
  const Kernel one = five_tiles("matmul_one_stage");
  for (const char* name :
       {"matmul_copies_ahead", "matmul_two_stages", "matmul_three_stages", "matmul_four_stages"}) {
    const Kernel more = five_tiles(name);
    for (const Counter counter : {kAsyncCopies, kGlobalLoadBytesMoved, kTensorOperations, kBarriers,
                                  kSharedMatrixLoadRequests, kSharedLoadWavefronts})
      EXPECT_EQ(one[counter], more[counter]) << name << ": " << info(counter).name;
  }
}

}  // namespace
