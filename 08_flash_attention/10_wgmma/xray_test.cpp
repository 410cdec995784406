#include <gtest/gtest.h>

#include "common/operators/attention/operator.hpp"
#include "common/testing/xray.hpp"

namespace {

using namespace emulator::xray;
using ladder::testing::xray_of;

// Two blocks of 128 queries, and 256 keys. A tile of 08.08 has 64 keys, and a tile of this lesson
// 128.
Kernel attend(const char* implementation) {
  return xray_of<ladder::Attention>(
      implementation, {.T_q = 256, .T_k = 256, .D = 128, .precision = ladder::Precision::kBf16});
}

// Two heads with a block each, and three tiles of keys for two stages.
const ladder::Shape kShape{{"B", 1},  {"T", 300},  {"H", 2},   {"K", 64},
                           {"V", 64}, {"T_q", 21}, {"H_kv", 1}};

const bool bounds =
    ladder::testing::register_bounds("attention_wgmma", "attention", kShape, {}, {"bf16"});

// Each block loads 192 rows of q, and for each of three tiles 128 rows of k and of v, all of eight
// 16-byte vectors. Three warpgroups issue 64 / 16 products with a tile of k, and 128 / 16 with v.
constexpr std::int64_t kUnits = (192 + 3 * (128 + 128)) * 8,
                       kProducts = 3 * 3 * (64 / 16 + 128 / 16);

// A thread loads 21 rows of q and 300 of k and of v, eight elements at a time. It stores o two
// elements at a time, and lse once per row.
const bool registered =
    ladder::testing::register_budget("attention_wgmma", "attention",
                                     {.loads = (21 + 2 * 300) / 21.0 / 8,
                                      .stores = 1.0 / 2 + 1.0 / 64,
                                      .atomics = 0,
                                      .counts = {{kAsyncCopies, kUnits, "block", 2},
                                                 {kTensorOperations, kProducts, "block", 2},
                                                 {kSharedLoadRequests, 0, "launch", 1},
                                                 {kSharedStoreRequests, 0, "launch", 1},
                                                 {kBarriers, 6, "block", 2}}},
                                     kShape, {}, {}, "bf16");

// A warpgroup's product is one instruction of 64 x 128 x 16, whereas a warp's is 16 x 8 x 16.
TEST(AttentionWgmma, MultipliesInFewerInstructions) {
  const Kernel before = attend("attention_pipelined");
  const Kernel after = attend("attention_wgmma");
  constexpr std::uint64_t kMultiplyAdds = 2 * 256 * 256 * 128;
  for (const Kernel* kernel : {&before, &after})
    EXPECT_EQ((*kernel)[kTensorMultiplyAdds], kMultiplyAdds);
  EXPECT_EQ(before[kTensorOperations], kMultiplyAdds / (16 * 8 * 16));
  EXPECT_EQ(after[kTensorOperations], kMultiplyAdds / (64 * 128 * 16));
}

TEST(AttentionWgmma, LoadsNothingFromSharedMemoryToRegisters) {
  const Kernel before = attend("attention_pipelined");
  const Kernel after = attend("attention_wgmma");
  EXPECT_EQ(before[kSharedMatrixLoadRequests], 2560u);
  EXPECT_EQ(before[kSharedLoadRequests], 128u);
  EXPECT_EQ(before[kSharedLoadWavefronts], 10752u);
  for (const Counter counter :
       {kSharedMatrixLoadRequests, kSharedLoadRequests, kSharedLoadWavefronts})
    EXPECT_EQ(after[counter], 0u) << info(counter).name;
}

// Each of two blocks has four warps of 32 rows of queries and four tiles of keys, or two warpgroups
// of 64 rows and two tiles. Each warp or warpgroup reads its rows of queries for each tile, and all
// rows of keys and of values.
TEST(AttentionWgmma, ReadsHalfAsManyBytesOfTiles) {
  constexpr std::uint64_t kMatrixLoad = 512, kRow = 128 * 2;
  EXPECT_EQ(attend("attention_pipelined")[kSharedMatrixLoadRequests] * kMatrixLoad,
            2 * 4 * (4 * 32 + 256 + 256) * kRow);
  const Kernel after = attend("attention_wgmma");
  EXPECT_EQ(after[kProductBytes], 2 * 2 * (2 * 64 + 256 + 256) * kRow);
  EXPECT_EQ(after[kProductWaits], 2 * 2u * 4 * 2 * 2)
      << "each warp, for each of two products of a tile";
}

TEST(AttentionWgmma, CopiesAsBeforeInLargerTiles) {
  const Kernel before = attend("attention_pipelined");
  const Kernel after = attend("attention_wgmma");
  for (const Kernel* kernel : {&before, &after}) {
    EXPECT_EQ((*kernel)[kAsyncCopies], 2 * (128u + 256 + 256) * 128 / 8);
    EXPECT_EQ((*kernel)[kGlobalLoadBytesMoved], 2 * (128u + 256 + 256) * 128 * 2);
  }
  EXPECT_EQ(before[kSharedBytes], (128u + 64 + 64) * 128 * 2);
  EXPECT_EQ(after[kSharedBytes], (128u + 128 + 128) * 128 * 2);
  EXPECT_EQ(before[kBarriers], 2 * 8u) << "in each block two for each of four tiles";
  EXPECT_EQ(after[kBarriers], 2 * 4u) << "two for each of two tiles";
}

// Four lanes hold 16 bytes of a row of o, half a sector. 08.08 sends whole 16-byte vectors through
// shared memory.
TEST(AttentionWgmma, StoresOutputsInHalfSectors) {
  const Kernel before = attend("attention_pipelined");
  const Kernel after = attend("attention_wgmma");
  constexpr std::uint64_t kOutputs = 256 * 128 * 2, kLse = 256 * sizeof(float);
  EXPECT_EQ(before[kGlobalStoreBytesMoved], kOutputs + kLse);
  EXPECT_EQ(after[kGlobalStoreBytesMoved], 2 * kOutputs + kLse);
  EXPECT_EQ(before[kSharedStoreRequests], 512u);
  EXPECT_EQ(after[kSharedStoreRequests], 0u);
}

// With a causal mask the first 192 queries see at most 256 keys, which are two tiles, and the
// others 448, which are four.
TEST(AttentionWgmma, LeavesOutTilesThatNobodySees) {
  const Kernel kernel = xray_of<ladder::Attention>(
      "attention_wgmma",
      {.T_q = 384, .T_k = 448, .D = 64, .causal = true, .precision = ladder::Precision::kBf16});
  EXPECT_EQ(kernel[kTensorMultiplyAdds], 2u * 192 * (2 + 4) * 128 * 64);
}

}  // namespace
