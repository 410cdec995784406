#include <gtest/gtest.h>

#include <set>

#include "08_flash_attention/swizzle.hpp"
#include "common/core/device_problem.hpp"
#include "common/testing/compare.hpp"
#include "common/testing/suite.hpp"

namespace {

using chapter08::Swizzled;
using ladder::AttentionCase;
using ladder::Precision;

const bool registered = ladder::testing::register_attention_suite(
    "attention_pipelined",
    {.fp32 = false,
     .bf16 = true,
     .fp16 = true,
     .nan_tile = 128,
     .lengths = {{0, 5}, {5, 0}, {1, 65}, {17, 63}, {64, 64}, {65, 130}, {130, 64}}});

void expect_right(const AttentionCase& c) {
  const auto implementation = ladder::find_implementation("attention_pipelined");
  if (ladder::testing::device_is_missing(implementation)) return;
  const auto problem = ladder::make_problem(c);
  EXPECT_TRUE(ladder::testing::is_right(problem, ladder::run(implementation, problem),
                                        ladder::arithmetic_of(implementation, c.precision)))
      << name_of(c);
}

// Blocks of 128 queries, tiles of 64 or 128 keys: the diagonal where it meets an edge of either, and next to it.
TEST(attention_pipelined, MatchesReferenceWhereTheDiagonalMeetsAnEdge) {
  for (const std::int64_t D : {64, 96}) {
    for (const std::int64_t T_k : {128, 191, 193, 257}) {
      AttentionCase c{.B = 1, .T_q = 129, .T_k = T_k, .H_q = 1, .H_kv = 1, .D = D};
      c.causal = true;
      c.precision = Precision::kBf16;
      expect_right(c);
    }
  }
}

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
