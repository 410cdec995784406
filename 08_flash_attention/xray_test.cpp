#include <gtest/gtest.h>

#include <cstdint>
#include <set>
#include <string>

#include "common/operators/attention/operator.hpp"
#include "common/testing/xray.hpp"

namespace {

using namespace emulator::xray;

constexpr std::uint64_t kD = 64, kQueries = 128, kKeys = 16;

// One head.
Kernel attend(std::uint64_t T, bool causal = false) {
  const auto time = static_cast<std::int64_t>(T);
  return ladder::testing::xray_of<ladder::Attention>(
      "attention_tiles", {.B = 1, .T_q = time, .T_k = time, .D = kD, .causal = causal});
}

// Three tiles of keys, of which the last one is partial. Below there are fewer keys than a tile
// holds.
const ladder::Shape kThreeTiles = {{"B", 1},  {"T", 37},   {"H", 2},   {"K", 64},
                                   {"V", 64}, {"T_q", 21}, {"H_kv", 1}};
const bool bounds = ladder::testing::register_bounds(
    "attention_tiles", "attention",
    {{"B", 1}, {"T", 5}, {"H", 2}, {"K", 64}, {"V", 64}, {"T_q", 21}, {"H_kv", 1}});

// Two blocks, one for each head, with 21 queries and three tiles. A thread loads and stores four
// elements at once. It loads its query's elements, and a tile's keys and values once for all 21
// queries. Each of four warps reads 32 times 16 bytes for each key.
const bool registered = ladder::testing::register_budget(
    "attention_tiles", "attention",
    {.loads = 1 / 4.0 + 2 * 3 * 16 / 4.0 / 21,
     .stores = 1 / 4.0 + 1 / 64.0,
     .atomics = 0,
     .counts = {{kBarriers, 2, "tile of a block", 3 * 2},
                {kSharedLoadRequests, 32, "key of a warp", 3 * 16 * 4 * 2}}},
    kThreeTiles);

TEST(AttentionTiles, StoresNoScoreAndFetchesAKeyOncePerBlock) {
  for (const std::uint64_t T : {128, 256}) {
    const Kernel kernel = attend(T);
    std::set<std::string> touched;
    for (const Buffer& buffer : kernel.buffers)
      touched.insert(buffer.name);
    EXPECT_EQ(touched, (std::set<std::string>{"q", "k", "v", "o", "lse"}));

    const std::uint64_t tensor = T * kD * sizeof(float), blocks = T / kQueries;
    EXPECT_EQ(kernel.buffer("q").loads().bytes_asked, tensor);
    EXPECT_EQ(kernel.buffer("o").stores().bytes_asked, tensor);
    EXPECT_EQ(kernel.buffer("lse").stores().bytes_asked, T * sizeof(float));
    for (const char* const name : {"k", "v"}) {
      const Traffic& loads = kernel.buffer(name).loads();
      EXPECT_EQ(loads.bytes_asked, blocks * tensor) << name;
      EXPECT_EQ(loads.accesses_per_element.least, blocks) << name;
      EXPECT_EQ(loads.accesses_per_element.most, blocks) << name;
    }
    EXPECT_EQ(kernel[kBarriers], 2 * blocks * T / kKeys);
  }
}

// Each warp reads a key 16 times and a value 16 times. All lanes of a warp read the same 16 bytes.
TEST(AttentionTiles, ReadsSharedMemory32TimesPerKeyAndWarpAndConflictsInNoBank) {
  const Kernel kernel = attend(128);
  EXPECT_EQ(kernel[kSharedLoadRequests], 32 * 128 * (kQueries / 32));
  EXPECT_EQ(kernel[kSharedLoadBankConflicts], 0u);
  EXPECT_EQ(kernel[kSharedStoreBankConflicts], 0u);
}

// The first block sees 128 keys, the second one 256.
TEST(AttentionTiles, FetchesNothingBehindTheDiagonal) {
  const Kernel kernel = attend(256, true);
  for (const char* const name : {"k", "v"})
    EXPECT_EQ(kernel.buffer(name).loads().bytes_asked, (128 + 256) * kD * sizeof(float)) << name;
  EXPECT_EQ(kernel[kBarriers], 2 * (128 + 256) / kKeys);
}

}  // namespace
