#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "common/emulator/include/emulator/smaller_device.hpp"
#include "common/operators/attention/operator.hpp"
#include "common/testing/xray.hpp"

namespace {

using namespace emulator::xray;
using ladder::testing::xrays_of;

constexpr const char* kName = "attention_sm90";

const bool bounds = ladder::testing::register_bounds(
    kName, "attention",
    {{"B", 1}, {"T", 37}, {"H", 2}, {"K", 64}, {"V", 64}, {"T_q", 21}, {"H_kv", 1}}, {}, {"bf16"});

std::vector<Kernel> kernels_of(std::int64_t T_q, std::int64_t T_k, std::int64_t D) {
  return xrays_of<ladder::Attention>(
      kName, {.T_q = T_q, .T_k = T_k, .D = D, .precision = ladder::Precision::kBf16});
}

// One thread requests boxes, and no thread loads a tile from global memory or copies one itself.
TEST(AttentionSm90, MovesTilesWithoutItsThreads) {
  for (const Kernel& kernel : kernels_of(192, 256, 64)) {
    EXPECT_EQ(kernel[kGlobalLoadRequests], 0u);
    EXPECT_EQ(kernel[kAsyncCopies], 0u);
    // A box of queries, two boxes of keys and two of values, each of 64 columns of 2 bytes.
    EXPECT_EQ(kernel[kBulkCopies], 5u);
    EXPECT_EQ(kernel[kBulkCopyBytes], 64u * 2 * (192 + 256 + 256));
  }
}

// The queries are the last 192 of 1,024. The first of them sees the keys from 733 on, in the sixth
// tile. Five tiles are neither loaded nor multiplied.
TEST(AttentionSm90, LeavesOutTilesInFrontOfTheWindow) {
  for (const Kernel& kernel :
       xrays_of<ladder::Attention>(kName, {.T_q = 192,
                                          .T_k = 1024,
                                          .D = 64,
                                          .causal = true,
                                          .window = 100,
                                          .precision = ladder::Precision::kBf16})) {
    EXPECT_EQ(kernel[kBulkCopies], 1u + 2 * 3);
    EXPECT_EQ(kernel[kBulkCopyBytes], 64u * 2 * (192 + 2 * 3 * 128));
    EXPECT_EQ(kernel[kTensorMultiplyAdds], std::uint64_t{2} * 192 * 3 * 128 * 64);
  }
}

// The same 192 queries and two tiles of keys, for three warpgroups of 128 threads and the one that
// copies.
TEST(AttentionSm90, WaitsForWhatItNeedsAndForNothingElse) {
  for (const Kernel& kernel : kernels_of(192, 256, 64)) {
    // The copying thread waits for free slots for the item, the end mark, the queries, and two
    // tiles each of keys and of values. Each other thread waits for the item, the end, queries and
    // the four tiles.
    EXPECT_EQ(kernel[kBarrierWaits], 7u + 3 * 128 * 7);
    // Each warp waits for a turn and passes it on for each tile of keys. In addition the first turn
    // is passed and the last one received.
    EXPECT_EQ(kernel[kNamedBarriers], 3u * 4 * 2 * 2 + 4 + 4);
    // The waits are for scores, then for scores and outputs in turn, then for outputs.
    EXPECT_EQ(kernel[kProductWaits], 3u * 4 * 4);
    // A warpgroup's queries and the tile of keys are in shared memory. The weights are in
    // registers, but the tile of values is not.
    EXPECT_EQ(kernel[kProductBytes], 3u * 2 * 64 * 2 * (64 + 128 + 128));
  }
}

// Whole tiles, 192 queries of 64 columns or 128 of 128, each with 128 keys.
TEST(AttentionSm90, TakesTwoProductsAndNoneTwice) {
  for (const auto& [T_q, D] : {std::pair{192, 64}, {128, 128}}) {
    const std::vector<Kernel> kernels = kernels_of(T_q, 256, D);
    ASSERT_EQ(kernels.size(), 1u);
    EXPECT_EQ(kernels.front()[kTensorMultiplyAdds], std::uint64_t{2} * T_q * 256 * D) << D;
  }
}

// Tiles are wide enough for the wider of D and D_v, and are copied whole. Stores of o cover D_v
// columns.
TEST(AttentionSm90, TakesTheWiderTileForBothWhereValuesHaveAnotherWidth) {
  for (const auto& [D, D_v, columns] : {std::tuple{192, 128, 256}, {128, 64, 128}}) {
    ladder::AttentionCase c{.T_q = 128, .T_k = 256, .D = D, .D_v = D_v};
    c.precision = ladder::Precision::kBf16;
    const std::vector<Kernel> kernels = xrays_of<ladder::Attention>(kName, c);
    ASSERT_EQ(kernels.size(), 1u);
    EXPECT_EQ(kernels.front()[kTensorMultiplyAdds], std::uint64_t{2} * 128 * 256 * columns);
    EXPECT_EQ(kernels.front()[kBulkCopyBytes], std::uint64_t{2} * columns * (128 + 256 + 256));
    EXPECT_EQ(kernels.front().buffer("o").stores().bytes_asked, std::uint64_t{2} * 128 * D_v);
  }
}

// With a causal mask the first 192 queries see at most 256 keys, which are two tiles, and the
// others 448, which are four.
TEST(AttentionSm90, LeavesOutTilesThatNobodySees) {
  const std::vector<Kernel> kernels = xrays_of<ladder::Attention>(
      kName,
      {.T_q = 384, .T_k = 448, .D = 64, .causal = true, .precision = ladder::Precision::kBf16});
  ASSERT_EQ(kernels.size(), 1u);
  EXPECT_EQ(kernels.front()[kTensorMultiplyAdds], 2u * 192 * (2 + 4) * 128 * 64);
}

// Rings of two stages, for four tiles of keys, and for three tiles of queries that a block
// processes sequentially. The last tile of keys is partial. With one tile of keys for each tile of
// queries, only the ring of works orders these. With a window each of them begins with another tile
// of keys. A tile of 72 columns is a tile of 128 with zeros.
TEST(attention_sm90, StaysInBoundsWhereStagesAreUsedAgain) {
  const emulator::SmallerDevice device(emulator::SmallerDevice::kMultiprocessors, "2");
  for (const auto& [T_k, D, window] :
       {std::tuple{390, 64, 0}, {70, 64, 0}, {390, 72, 0}, {520, 64, 150}})
    xrays_of<ladder::Attention>(kName, {.T_q = 400,
                                        .T_k = T_k,
                                        .H_q = 2,
                                        .H_kv = 1,
                                        .D = D,
                                        .causal = window > 0,
                                        .window = window,
                                        .precision = ladder::Precision::kBf16});
}

}  // namespace
