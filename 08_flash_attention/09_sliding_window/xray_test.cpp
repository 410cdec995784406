#include <gtest/gtest.h>

#include <vector>

#include "common/operators/attention/operator.hpp"
#include "common/testing/xray.hpp"

namespace {

using namespace emulator::xray;
using ladder::testing::xray_of;

constexpr const char* kName = "attention_sliding_window";

// Blocks of 128 queries. Tiles have 64 keys for D = 32, as for D = 128.
Kernel attend(const char* implementation, std::int64_t T, std::int64_t D, std::int64_t window,
              bool causal = true) {
  return xray_of<ladder::Attention>(implementation, {.T_q = T,
                                                     .T_k = T,
                                                     .D = D,
                                                     .causal = causal,
                                                     .window = window,
                                                     .precision = ladder::Precision::kBf16});
}

const bool bounds = ladder::testing::register_bounds(
    kName, "attention",
    {{"B", 1}, {"T", 150}, {"H", 2}, {"K", 40}, {"V", 40}, {"T_q", 131}, {"H_kv", 1}},
    {{"causal", "true"}, {"window", "20"}}, {"bf16"});

constexpr std::uint64_t kTiles = 64;      // keys of a tile
constexpr std::uint64_t kUnits = 32 / 8;  // of a row, 16 bytes each

// The number of tiles of keys that all blocks together load.
std::uint64_t tiles_of(std::int64_t T, std::int64_t window) {
  const Kernel kernel = attend(kName, T, 32, window);
  const std::uint64_t queries = static_cast<std::uint64_t>(T) * kUnits;
  const std::uint64_t keys_and_values = kernel[kAsyncCopies] - queries;
  EXPECT_EQ(keys_and_values % (2 * kTiles * kUnits), 0u);
  return keys_and_values / (2 * kTiles * kUnits);
}

// Four blocks. Without a window they load 2, 4, 6 and 8 tiles. With a window of 64 keys each but
// the first one loads 3, for any T.
TEST(AttentionSlidingWindow, FetchesTheTilesThatTheWindowMeets) {
  EXPECT_EQ(tiles_of(512, 0), 2u + 4 + 6 + 8);
  EXPECT_EQ(tiles_of(512, 64), 2u + 3 + 3 + 3);
  EXPECT_EQ(tiles_of(512, 65), 2u + 3 + 3 + 3);
  EXPECT_EQ(tiles_of(512, 66), 2u + 4 + 4 + 4);
  EXPECT_EQ(tiles_of(512, 1), 4u * 2);
}

// The work grows with T, not with its square. Each block computes two tiles on the diagonal, and
// one for the window.
TEST(AttentionSlidingWindow, MultipliesNoMoreThanItFetches) {
  constexpr std::uint64_t kTile = 2 * 128 * 64 * 32;
  EXPECT_EQ(attend(kName, 256, 32, 64)[kTensorMultiplyAdds], (2 + 3) * kTile);
  EXPECT_EQ(attend(kName, 512, 32, 64)[kTensorMultiplyAdds], (2 + 3 + 3 + 3) * kTile);
}

// A key is read by the blocks whose windows contain it, which are two if a window is narrower than
// a block.
TEST(AttentionSlidingWindow, ReadsAKeyForTheBlocksThatSeeIt) {
  const Kernel kernel = attend(kName, 512, 32, 64);
  for (const char* name : {"k", "v"}) {
    EXPECT_EQ(kernel.buffer(name).loads().accesses_per_element.least, 1u);
    EXPECT_EQ(kernel.buffer(name).loads().accesses_per_element.most, 2u);
  }
}

// If no new option is used.
TEST(AttentionSlidingWindow, IsTheStepBeforeWithoutAWindow) {
  for (const bool causal : {false, true}) {
    const Kernel before = attend("attention_pipelined", 256, 64, 0, causal);
    const Kernel after = attend(kName, 256, 64, 0, causal);
    for (const Counter counter :
         {kGlobalLoadBytesMoved, kGlobalStoreBytesMoved, kSharedLoadRequests, kSharedStoreRequests,
          kSharedMatrixLoadRequests, kSharedBytes, kTensorOperations, kBarriers, kAsyncCopies,
          kAsyncCopiesAtOnce})
      EXPECT_EQ(before[counter], after[counter]) << info(counter).name;
  }
}

// 40 channels are in rows of 64 columns. Copies and stores cover 40.
TEST(AttentionSlidingWindow, ReadsAndStoresOnlyChannelsThatExist) {
  const Kernel kernel = attend(kName, 128, 40, 0);
  constexpr std::uint64_t kTensor = 128 * 40 * 2;
  EXPECT_EQ(kernel[kGlobalLoadBytesMoved], 3 * kTensor);
  EXPECT_EQ(kernel.buffer("o").stores().accesses_per_element.most, 1u);
  EXPECT_EQ(kernel.buffer("o").stores().accesses_per_element.least, 1u);
}

TEST(AttentionSlidingWindow, ConflictsInNoBank) {
  for (const std::int64_t D : {40, 128}) {
    for (const Access& access : attend(kName, 128, D, 20).accesses)
      EXPECT_EQ(access.bank_conflicts, 0u) << "D = " << D << ": " << access.code;
  }
}

// 100 sequences, most of them empty, of 304 queries and two heads. The grid is not a block for each
// sequence's share of all rows, but a block for each slot. There is one slot per sequence more than
// whole tiles.
TEST(AttentionSlidingWindow, LaunchesABlockForEachSlotOfPackedSequences) {
  ladder::AttentionCase c{.H_q = 2, .H_kv = 1, .D = 32, .causal = true};
  c.precision = ladder::Precision::kBf16;
  std::vector<ladder::AttentionCase::Lengths> lengths(100);
  lengths[3] = {300, 70}, lengths[4] = {1, 1}, lengths[98] = {3, 9};
  const dim3 grid = xray_of<ladder::Attention>(kName, packed(c, lengths)).grid;
  EXPECT_EQ(grid.x, 304u / 128 + 100);
  EXPECT_EQ(grid.y, 2u);
  EXPECT_EQ(grid.z, 1u);
}

// 08.9, for a learner. Each block loads q once, and the tiles of 64 keys that overlap its windows
// of 65 keys. A block's first window begins where a tile does, so the test notices an extra tile
// before it.
TEST(AttentionSlidingWindow, KeepsItsBudget) {
  constexpr std::uint64_t kAllowed = (512 + 2 * (2 + 3 + 3 + 3) * kTiles) * kUnits;
  const std::uint64_t used = attend(kName, 512, 32, 65)[kAsyncCopies];
  ladder::testing::expect_within_budget(static_cast<double>(used), static_cast<double>(kAllowed),
                                        "asynchronous copies used, T = 512, a window of 65");
}

}  // namespace
