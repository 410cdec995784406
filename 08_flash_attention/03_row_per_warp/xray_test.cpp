#include <gtest/gtest.h>

#include <cstdint>
#include <set>
#include <string>

#include "common/operators/attention/operator.hpp"
#include "common/testing/xray.hpp"

namespace {

using namespace emulator::xray;
using ladder::Precision;

constexpr std::uint64_t kD = 64;

// One head, in fp32 unless `precision` is another one.
Kernel attend(std::uint64_t T_q, std::uint64_t T_k, bool causal = false,
              Precision precision = Precision::kFp32, std::uint64_t D = kD) {
  return ladder::testing::xray_of<ladder::Attention>("attention_row_per_warp",
                                                     {.B = 1,
                                                      .T_q = static_cast<std::int64_t>(T_q),
                                                      .T_k = static_cast<std::int64_t>(T_k),
                                                      .D = static_cast<std::int64_t>(D),
                                                      .causal = causal,
                                                      .precision = precision});
}

const ladder::Shape kRagged = {{"B", 1},  {"T", 37},   {"H", 2},   {"K", 64},
                               {"V", 64}, {"T_q", 21}, {"H_kv", 1}};

const bool bounds = ladder::testing::register_bounds("attention_row_per_warp", "attention", kRagged,
                                                     {}, {"fp32", "bf16"});

// An element of o loads its element of q, and one element each of k and v for each of 37 keys. A
// warp needs five shuffles per key.
const bool registered =
    ladder::testing::register_budget("attention_row_per_warp", "attention",
                                     {.loads = 1 + 2.0 * 37,
                                      .stores = 1 + 1.0 / 64,
                                      .atomics = 0,
                                      .counts = {{kShuffles, 5, "key of a query", 21 * 2 * 37},
                                                 {kSharedLoadRequests, 0, "launch", 1},
                                                 {kBarriers, 0, "launch", 1}}},
                                     kRagged);

// No T_q x T_k elements are stored. The loads are that many rows, twice.
TEST(RowPerWarp, StoresNoScoreAndReadsEachKeyOncePerQuery) {
  for (const std::uint64_t T_q : {16, 32}) {
    for (const std::uint64_t T_k : {24, 48}) {
      const Kernel kernel = attend(T_q, T_k);
      std::set<std::string> touched;
      for (const Buffer& buffer : kernel.buffers)
        touched.insert(buffer.name);
      EXPECT_EQ(touched, (std::set<std::string>{"q", "k", "v", "o", "lse"}));
      EXPECT_EQ(kernel.buffer("o").stores().bytes_asked, T_q * kD * sizeof(float));
      EXPECT_EQ(kernel.buffer("lse").stores().bytes_asked, T_q * sizeof(float));
      EXPECT_EQ(kernel.buffer("q").loads().accesses_per_element.most, 1u);
      for (const char* const name : {"k", "v"}) {
        const Traffic& loads = kernel.buffer(name).loads();
        EXPECT_EQ(loads.bytes_asked, T_q * T_k * kD * sizeof(float)) << name;
        EXPECT_EQ(loads.accesses_per_element.least, T_q) << name;
        EXPECT_EQ(loads.accesses_per_element.most, T_q) << name;
      }
      EXPECT_EQ(kernel[kShuffles], 5 * T_q * T_k);
      EXPECT_EQ(kernel[kBarriers], 0u);
      EXPECT_EQ(kernel[kSharedLoadRequests], 0u);
    }
  }
}

// Query l sees the keys 0 to l, so all queries read the first key, and only one reads the last.
TEST(RowPerWarp, ReadsNothingBehindTheDiagonal) {
  constexpr std::uint64_t kT = 32;
  const Kernel kernel = attend(kT, kT, true);
  for (const char* const name : {"k", "v"}) {
    const Traffic& loads = kernel.buffer(name).loads();
    EXPECT_EQ(loads.bytes_asked, kT * (kT + 1) / 2 * kD * sizeof(float)) << name;
    EXPECT_EQ(loads.accesses_per_element.least, 1u) << name;
    EXPECT_EQ(loads.accesses_per_element.most, kT) << name;
  }
}

// 32 lanes read 32 contiguous channels, which are four sectors in fp32 and two in bf16.
TEST(RowPerWarp, ReadsWholeSectors) {
  for (const auto& [precision, sectors] : {std::pair{Precision::kFp32, 4}, {Precision::kBf16, 2}}) {
    for (const std::uint64_t D : {32, 64, 96, 128, 256}) {
      const Kernel kernel = attend(3, 5, false, precision, D);
      EXPECT_EQ(kernel[kGlobalLoadRequests], (1 + 2 * 5) * 3 * D / 32);
      EXPECT_EQ(kernel[kGlobalLoadSectors], sectors * kernel[kGlobalLoadRequests]);
    }
  }
}

}  // namespace
