#include <gtest/gtest.h>

#include <cstdint>
#include <cstdio>
#include <set>
#include <string>
#include <vector>

#include "common/testing/xray.hpp"

namespace {

using namespace emulator::xray;
using ladder::Precision;

// Of queries and of keys, up to D = 128.
constexpr std::uint64_t kTile = 64;

// Per element of o, four at a time: whole tiles of q, k and v for the five rows of the budget's shape.
const bool registered = ladder::testing::register_budget(
    "attention_scalar_tiles", "attention",
    {.loads = 3 * kTile / 4.0 / 5, .stores = 1 + 1.0 / 64, .atomics = 0});

// One head, fp32 unless it says otherwise.
Kernel attend(std::uint64_t T, std::int64_t D, bool causal,
              Precision precision = Precision::kFp32) {
  const auto time = static_cast<std::int64_t>(T);
  const std::vector<Kernel> kernels = ladder::testing::xrays_of(
      "attention_scalar_tiles",
      {.B = 1, .T_q = time, .T_k = time, .D = D, .causal = causal, .precision = precision});
  EXPECT_EQ(kernels.size(), 1u);
  return kernels.front();
}

// What bytes there are grows with T for each tile of queries, and there are T / 64 of those.
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

// For a learner: no tile behind the diagonal.
TEST(ScalarTilesCausal, KeepsItsBudget) {
  const Kernel kernel = attend(192, 32, true);
  const std::uint64_t allowed = 1 + 2 + 3;
  for (const char* const name : {"k", "v"}) {
    const std::uint64_t used =
        kernel.buffer(name).loads().bytes_asked / (kTile * 32 * sizeof(float));
    std::printf("budget: %llu of %llu tiles of %s fetched, by three causal tiles of queries\n",
                static_cast<unsigned long long>(used), static_cast<unsigned long long>(allowed),
                name);
    EXPECT_EQ(used, allowed);
  }
  // Keys and values share a place: for each of the two, nobody reads what was there, and what comes is there.
  EXPECT_EQ(kernel[kBarriers], 4 * allowed);
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
