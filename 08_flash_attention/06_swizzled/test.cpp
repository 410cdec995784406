#include <gtest/gtest.h>

#include <set>

#include "08_flash_attention/edge_suite.hpp"
#include "08_flash_attention/swizzle.hpp"
#include "common/testing/suite.hpp"

namespace {

using flash_attention::Swizzled;

const bool registered = ladder::testing::register_suite(
    "attention", "attention_swizzled",
    {.storages = {"bf16"},
     .sizes = {{"D", {64, 128}}, {"T_q", {1, 17, 64, 65, 130}}, {"T_k", {65, 63, 64, 130, 64}}},
     .nan_tile = 128,
     // Keys in tiles of 128 with 64 channels, of 64 with more; queries in tiles of 128.
     .borders = {{.size = "T", .at = {128, 256}},
                 {.size = "T", .at = {64, 128}, .others = {{"K", 128}, {"V", 128}}},
                 {.size = "T_q", .at = {64, 128}}}});

const bool edges_registered = flash_attention::edges::register_forward_edges(
    "attention_swizzled", {.limits = {"B", "H_q", "sequences", "T_q", "T_k"}});

// What a warp moves or reads in one instruction is 32 units of 16 bytes, eight of them at once.
template <int kD>
void expect_swizzled() {
  constexpr unsigned kRows = 64, kUnits = kD / 8;
  using Layout = Swizzled<kD>;
  const auto bank = [](unsigned row, unsigned unit) {
    return Layout::place(row, unit * 8) / 8 % 8;
  };

  std::set<unsigned> places;
  for (unsigned row = 0; row < kRows; ++row) {
    for (unsigned column = 0; column < kD; ++column) {
      const unsigned place = Layout::place(row, column);
      places.insert(place);
      EXPECT_LT(place, kRows * kD);
      EXPECT_EQ(place % 8, column % 8) << "a unit stays together";
      EXPECT_EQ(Layout::along(Layout::place(row, column % 16), column / 16 * 16), place);
      EXPECT_EQ(Layout::place(row % 8, column) + row / 8 * 8 * kD, place) << "8 rows repeat";
    }
  }
  EXPECT_EQ(places.size(), kRows * kD);

  for (unsigned unit = 0; unit < kUnits; ++unit) {
    for (unsigned row = 0; row < kRows; row += 8) {
      std::set<unsigned> banks;
      for (unsigned i = 0; i < 8; ++i)
        banks.insert(bank(row + i, unit));
      EXPECT_EQ(banks.size(), 8u) << "rows from " << row << ", unit " << unit;
    }
  }
  // Along a row, and where that is shorter, along two.
  constexpr unsigned kTogether = kUnits % 8 == 0 ? 8 : 4;
  for (unsigned row = 0; row < kRows; row += 8 / kTogether) {
    for (unsigned unit = 0; unit < kUnits; unit += kTogether) {
      std::set<unsigned> banks;
      for (unsigned i = 0; i < 8; ++i)
        banks.insert(bank(row + i / kTogether, unit + i % kTogether));
      EXPECT_EQ(banks.size(), 8u) << "units from " << unit << ", row " << row;
    }
  }
}

TEST(Swizzle, PutsRowsAndColumnsInEightBanksAndLosesNothing) {
  expect_swizzled<32>();
  expect_swizzled<64>();
  expect_swizzled<96>();
  expect_swizzled<128>();
  expect_swizzled<256>();
}

}  // namespace
