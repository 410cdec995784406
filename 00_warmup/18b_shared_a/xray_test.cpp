#include "common/testing/xray.hpp"

#include <gtest/gtest.h>

namespace {

using namespace emulator::xray;

// 3 * 21 columns are two tiles of columns, with two tiles of rows. Each of the four blocks has two
// tiles along K.
const bool registered = ladder::testing::register_budget(
    "shared_a_tiles", "shared_a_matmul",
    {.loads = (2 * 37 * 40 + 2 * 3 * 40 * 21) / (3 * 37.0 * 21.0) + 1,
     .stores = 1,
     .counts = {{kBarriers, 2, "tile", 4 * 2}}},
    {{"B", 3}, {"M", 37}, {"N", 21}, {"K", 40}}, {{"with_bias", "true"}});

Kernel shared_a(const ladder::Shape& shape) {
  return ladder::testing::xray_of("shared_a_tiles", "shared_a_matmul", shape);
}

// 8 batches of 20 columns are five adjacent tiles. A separate tile for each batch would make eight.
TEST(SharedATiles, LeavesNoPartOfATileOver) {
  constexpr std::uint64_t kB = 8, kM = 32, kN = 20, kK = 32, kTile = 32;
  const Kernel kernel = shared_a({{"B", kB}, {"M", kM}, {"N", kN}, {"K", kK}});
  const Traffic &a = kernel.buffer("a").loads(), &b = kernel.buffer("b").loads();
  constexpr std::uint64_t kTiles = kB * kN / kTile;
  EXPECT_EQ(a.accesses_per_element.least, kTiles);
  EXPECT_EQ(a.accesses_per_element.most, kTiles);
  EXPECT_EQ(b.accesses_per_element.least, 1u);
  EXPECT_EQ(b.accesses_per_element.most, 1u);
  EXPECT_EQ(kernel[kBarriers], 2 * kTiles);
  EXPECT_EQ(kernel[kSharedLoadRequests], 2 * kTile * kTile * kTile * kTiles / kWarpSize);
  EXPECT_EQ(kernel[kSharedLoadBankConflicts], 0u);
}

// 8 batches with 32 rows of b. The 80 bytes of a row of 20 do not end at a sector's edge, and the
// 96 bytes of a row of 24 do.
TEST(SharedATiles, TouchesFiveSectorsForFourWhereBatchesDoNotEndAtThem) {
  const auto loads_of_b = [](std::int64_t N) {
    return shared_a({{"B", 8}, {"M", 32}, {"N", N}, {"K", 32}}).buffer("b").loads();
  };
  const Traffic of_24 = loads_of_b(24), of_20 = loads_of_b(20);
  EXPECT_EQ(of_24.requests, 6 * 32u);
  EXPECT_EQ(of_24.sectors, 4 * of_24.requests);
  EXPECT_EQ(of_20.requests, 5 * 32u);
  EXPECT_EQ(of_20.sectors, 832u);
}

}  // namespace
