#include <algorithm>
#include <cstdint>
#include <set>
#include <utility>
#include <vector>

#include "00_warmup/17_grouped_order/block_order.hpp"
#include "00_warmup/hole_tests.hpp"
#include "common/testing/suite.hpp"

namespace {

using warmup::grouped_place;
using warmup::TilePlace;

// Every tile has one block, which is inside of C, and no tile occurs twice. The last group is
// partial for most of these.
TEST(matmul_grouped, Hole1TakesEachTileOnce) {
  for (std::int64_t down = 1; down <= 9; ++down) {
    for (std::int64_t across = 1; across <= 5; ++across) {
      for (std::int64_t group = 1; group <= 10; ++group) {
        std::set<std::pair<std::int64_t, std::int64_t>> taken;
        for (std::int64_t block = 0; block < down * across; ++block) {
          const TilePlace place = grouped_place(block, down, across, group);
          ASSERT_TRUE(place.down >= 0 && place.down < down && place.across >= 0 &&
                      place.across < across)
              << "WRONG RESULT: block " << block << " of " << down << " x " << across
              << " tiles in groups of " << group << " takes tile (" << place.down << ", "
              << place.across << "), which lies outside";
          ASSERT_TRUE(taken.emplace(place.down, place.across).second)
              << "WRONG RESULT: tile (" << place.down << ", " << place.across << ") of " << down
              << " x " << across << " tiles in groups of " << group << " is taken twice";
        }
      }
    }
  }
}

// 5 x 3 tiles in groups of 2, so the last group has one row.
TEST(matmul_grouped, Hole1WalksAGroupByColumns) {
  const std::vector<std::vector<std::int64_t>> blocks = {
      {0, 2, 4}, {1, 3, 5}, {6, 8, 10}, {7, 9, 11}, {12, 13, 14}};
  for (std::int64_t down = 0; down < 5; ++down) {
    for (std::int64_t across = 0; across < 3; ++across) {
      const TilePlace place = grouped_place(blocks[down][across], 5, 3, 2);
      EXPECT_TRUE(place.down == down && place.across == across)
          << "WRONG RESULT: block " << blocks[down][across]
          << " of 5 x 3 tiles in groups of 2 takes "
          << "tile (" << place.down << ", " << place.across << "); right is tile (" << down << ", "
          << across << ")";
    }
  }
}

TEST(GroupedPlace, IsRowOrderInGroupsOfOne) {
  for (std::int64_t block = 0; block < 7 * 5; ++block) {
    const TilePlace place = grouped_place(block, 7, 5, 1);
    EXPECT_EQ(place.down, block / 5);
    EXPECT_EQ(place.across, block % 5);
  }
}

// swizzle2d, as the notes quote it from Triton, maps a program of a two-dimensional grid to another
// tile. With the program's linear number it is the same order in whole groups. In a partial last
// group its row depends on the number in the whole grid, not in the group, which swaps the two rows
// of that group here.
TEST(GroupedPlace, IsTheSameForATwoDimensionalGridInWholeGroups) {
  constexpr std::int64_t kDown = 5, kAcross = 5, kGroup = 3;
  for (std::int64_t i = 0; i < kDown; ++i) {
    for (std::int64_t j = 0; j < kAcross; ++j) {
      const std::int64_t ij = i * kAcross + j, first = ij / (kGroup * kAcross) * kGroup;
      const std::int64_t rows = std::min(kDown - first, kGroup);
      const TilePlace place = grouped_place(ij, kDown, kAcross, kGroup);
      const std::int64_t other = first + ij % rows;
      EXPECT_EQ(place.down, i < kGroup ? other : kDown + kGroup - 1 - other);
      EXPECT_EQ(place.across, ij % (kGroup * kAcross) / rows);
    }
  }
}

// Strips, which are rows or columns of tiles, that the blocks of a wave need, added up over all
// waves of 264 blocks for 64 x 64 tiles.
std::int64_t strips(std::int64_t group) {
  constexpr std::int64_t kSide = 64, kWave = 264;
  std::size_t all = 0;
  for (std::int64_t first = 0; first < kSide * kSide; first += kWave) {
    std::set<std::int64_t> rows, columns;
    for (std::int64_t block = first; block < std::min(first + kWave, kSide * kSide); ++block) {
      const TilePlace place = grouped_place(block, kSide, kSide, group);
      rows.insert(place.down), columns.insert(place.across);
    }
    all += rows.size() + columns.size();
  }
  return static_cast<std::int64_t>(all);
}

TEST(GroupedPlace, NeedsFewerStripsInSquares) {
  EXPECT_EQ(strips(1), 1102);
  EXPECT_EQ(strips(4), 1118);
  EXPECT_EQ(strips(8), 696);
  EXPECT_EQ(strips(16), 568);
  EXPECT_EQ(strips(32), 684);
  EXPECT_EQ(strips(64), 1102);
}

const bool registered = ladder::testing::register_suite(
    "matmul", "matmul_grouped",
    {.storages = {"bf16"},
     .sizes = {{"M", {140, 1, 128}}, {"N", {260, 1, 136}}, {"K", {9, 1, 72}}},
     .options = {{"with_bias", {"false", "true"}}, {"relu", {"false", "true"}}},
     .borders = {{.size = "M", .at = {128, 2048}, .others = {{"N", 130}, {"K", 3}}}}});

}  // namespace
