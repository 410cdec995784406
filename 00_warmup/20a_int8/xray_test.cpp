#include "common/testing/xray.hpp"

#include <gtest/gtest.h>

namespace {

using namespace emulator::xray;

const ladder::Shape kRaggedProduct = {{"M", 37}, {"N", 45}, {"K", 40}, {"GROUP", 20}};

// Every number of r is read twice. The product has two tiles of columns and two of rows, and reads
// a byte, a scale and a zero point for each weight of a tile.
const bool registered =
    ladder::testing::register_budget("quantize_groups", "quantize",
                                     {.loads = 2, .stores = 1 + 2.0 * 4 / 100},
                                     {{"K", 100}, {"N", 37}, {"GROUP", 32}}) &&
    ladder::testing::register_budget(
        "int8_tiles", "int8_matmul",
        {.loads = (2 * 37 * 40 + 3 * 2 * 40 * 45) / (37.0 * 45.0), .stores = 1}, kRaggedProduct);

Kernel tiles(std::int64_t group, const char* symmetric) {
  return ladder::testing::xray_of("int8_tiles", "int8_matmul",
                                  {{"M", 64}, {"N", 96}, {"K", 64}, {"GROUP", group}},
                                  {{"symmetric", symmetric}});
}

TEST(int8_tiles, ReadsAByteForEachWeight) {
  constexpr std::uint64_t kM = 64, kN = 96, kK = 64, kTile = 32;
  const Kernel kernel = tiles(32, "true");
  EXPECT_EQ(kernel.buffer("w").loads().bytes_asked, kM / kTile * kK * kN);
  EXPECT_EQ(kernel.buffer("w").loads().sectors * kSectorBytes,
            kernel.buffer("w").loads().bytes_asked);
  EXPECT_EQ(kernel[kSharedLoadBankConflicts], 0u);
  EXPECT_EQ(kernel[kBarriers], 2 * (kM / kTile) * (kN / kTile) * (kK / kTile));
}

// Groups need a scale for each weight of each tile, a channel one for each element of C.
TEST(int8_tiles, ReadsAScaleForEachWeightOrForEachElementOfC) {
  EXPECT_EQ(tiles(32, "true").buffer("scale").loads().accesses, 2u * 64 * 96);
  EXPECT_EQ(tiles(64, "true").buffer("scale").loads().accesses, 64u * 96);
}

TEST(int8_tiles, ReadsZeroPointsOnlyWhereThereAreSome) {
  EXPECT_EQ(tiles(32, "false").buffer("zero").loads().accesses, 2u * 64 * 96);
}

}  // namespace
