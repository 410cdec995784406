#include <gtest/gtest.h>

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "common/operators/attention/operator.hpp"
#include "common/testing/xray.hpp"

namespace {

using namespace emulator::xray;
using ladder::Precision;

// The number of queries, or keys, of a tile, up to D = 128.
constexpr std::uint64_t kTile = 64;

// One head, in fp32 unless `precision` is another one.
Kernel attend(std::uint64_t T, std::int64_t D, bool causal,
              Precision precision = Precision::kFp32) {
  const auto time = static_cast<std::int64_t>(T);
  const std::vector<Kernel> kernels = ladder::testing::xrays_of<ladder::Attention>(
      "attention_scalar_tiles",
      {.B = 1, .T_q = time, .T_k = time, .D = D, .causal = causal, .precision = precision});
  EXPECT_EQ(kernels.size(), 1u);
  return kernels.front();
}

const bool bounds = ladder::testing::register_bounds(
    "attention_scalar_tiles", "attention",
    {{"B", 1}, {"T", 37}, {"H", 2}, {"K", 64}, {"V", 64}, {"T_q", 21}, {"H_kv", 1}}, {},
    {"fp32", "bf16"});

// A tile of 21 queries and a tile of 37 keys, for each of two heads. A thread loads four elements
// at once, always for 64 rows. An element of o is stored once, and lse once per row. A tile of keys
// needs four barriers. A warp has eight pairs of rows, with four shuffles for the maximum score of
// each and four for its sum.
const bool registered = ladder::testing::register_budget(
    "attention_scalar_tiles", "attention",
    {.loads = 3 * (64 / 4) / 21.0,
     .stores = 1 + 1.0 / 64,
     .atomics = 0,
     .counts = {{kBarriers, 4, "block", 2}, {kShuffles, 4 * 8 * (4 + 4), "block", 2}}},
    {{"B", 1}, {"T", 37}, {"H", 2}, {"K", 64}, {"V", 64}, {"T_q", 21}, {"H_kv", 1}});

// The bytes per tile of queries grow with T, and there are T / 64 tiles.
TEST(ScalarTiles, WriteNoScoreAndFetchKeysAndValuesOncePerTileOfQueries) {
  for (const std::uint64_t T : {64, 128, 192}) {
    const Kernel kernel = attend(T, 32, false);
    std::set<std::string> touched;
    for (const Buffer& buffer : kernel.buffers)
      touched.insert(buffer.name);
    EXPECT_EQ(touched, (std::set<std::string>{"q", "k", "v", "o", "lse"}));

    const std::uint64_t tensor = T * 32 * sizeof(float), query_tiles = T / kTile;
    EXPECT_EQ(kernel.buffer("o").stores().bytes_asked, tensor);
    EXPECT_EQ(kernel.buffer("lse").stores().bytes_asked, T * sizeof(float));
    EXPECT_EQ(kernel.buffer("k").loads().bytes_asked, query_tiles * tensor);
    EXPECT_EQ(kernel.buffer("v").loads().bytes_asked, query_tiles * tensor);
    EXPECT_EQ(kernel[kGlobalLoadBytesMoved], (1 + 2 * query_tiles) * tensor);
  }
}

// The block also synchronizes four times per tile of keys. Keys and values share a buffer, and each
// of the two needs a barrier before it overwrites the buffer and one after it has filled it.
TEST(ScalarTiles, FetchNothingBehindTheDiagonal) {
  const Kernel kernel = attend(192, 32, true);
  const std::uint64_t key_tiles = 1 + 2 + 3;
  for (const char* const name : {"k", "v"})
    EXPECT_EQ(kernel.buffer(name).loads().bytes_asked, key_tiles * kTile * 32 * sizeof(float));
  EXPECT_EQ(kernel[kBarriers], 4 * key_tiles);
}

TEST(ScalarTiles, ConflictInNoBank) {
  for (const Precision precision : {Precision::kFp32, Precision::kBf16}) {
    for (const std::int64_t D : {32, 64, 96, 128, 256}) {
      const Kernel kernel = attend(40, D, true, precision);
      EXPECT_GT(kernel[kSharedLoadRequests], 0u);
      for (const Access& access : kernel.accesses)
        EXPECT_EQ(access.bank_conflicts, 0u) << access.code;
    }
  }
}

}  // namespace
