#include "common/testing/xray.hpp"

#include <gtest/gtest.h>

namespace {

using namespace emulator::xray;

// Two tiles of columns and two of rows, so each element of A and of B is loaded twice. Each of the
// four blocks has two tiles along K.
const bool registered = ladder::testing::register_budget(
    "matmul_tiles", "matmul",
    {.loads = (2 * 37 * 40 + 2 * 40 * 45) / (37.0 * 45.0),
     .stores = 1,
     .counts = {{kBarriers, 2, "tile", 4 * 2},
                {kSharedLoadRequests, 2, "step of a warp", 32 * 4 * 2 * 32},
                {kSharedLoadBankConflicts, 0, "tile", 4 * 2},
                {kSharedStoreBankConflicts, 0, "tile", 4 * 2}}},
    {{"M", 37}, {"N", 45}, {"K", 40}});

Kernel tiles(const ladder::Shape& shape) {
  return ladder::testing::xray_of("matmul_tiles", "matmul", shape);
}

// 2 * 3 blocks, each with two tiles along K, and two barriers for each.
TEST(MatmulTiles, FetchesEachElementOnceForEachTileAndHasNoBankConflict) {
  constexpr std::uint64_t kM = 64, kN = 96, kK = 64, kTile = 32;
  const Kernel kernel = tiles({{"M", kM}, {"N", kN}, {"K", kK}});
  const Traffic &a = kernel.buffer("a").loads(), &b = kernel.buffer("b").loads();
  EXPECT_EQ(a.accesses_per_element.least, kN / kTile);
  EXPECT_EQ(a.accesses_per_element.most, kN / kTile);
  EXPECT_EQ(b.accesses_per_element.least, kM / kTile);
  EXPECT_EQ(b.accesses_per_element.most, kM / kTile);
  EXPECT_EQ(a.sectors * kSectorBytes, a.bytes_asked);
  EXPECT_EQ(b.sectors * kSectorBytes, b.bytes_asked);
  EXPECT_EQ(kernel[kBarriers], 2 * (kM / kTile) * (kN / kTile) * (kK / kTile));
  EXPECT_EQ(kernel[kSharedLoadRequests], 2 * kM * kN * kK / kWarpSize);
  EXPECT_EQ(kernel[kSharedLoadBankConflicts], 0u);
  EXPECT_EQ(kernel[kSharedStoreBankConflicts], 0u);
}

}  // namespace
