#include <gtest/gtest.h>

#include "common/operators/linear_attention/operator.hpp"
#include "common/testing/xray.hpp"

namespace {

using namespace emulator::xray;
using ladder::CausalDotProduct;
using ladder::testing::xray_of;

// Two heads of two chunks, the second one partial.
const ladder::Shape kShape{{"B", 1}, {"T", 70}, {"H", 2}, {"K", 64}, {"V", 64}};
constexpr std::int64_t kChunks = 2 * 2;

const bool bounds = ladder::testing::register_bounds("linear_attention_ldmatrix_swizzle",
                                                     "causal_dot_product", kShape, {}, {"bf16"});

// Each of q, k and v is loaded once, eight elements at a time, and o is stored two at a time.
const bool registered =
    ladder::testing::register_budget("linear_attention_ldmatrix_swizzle", "causal_dot_product",
                                     {.loads = 3.0 / 8,
                                      .stores = 1.0 / 2,
                                      .atomics = 0,
                                      .counts = {{kTensorOperations, 416, "chunk", kChunks},
                                                 {kSharedMatrixLoadRequests, 240, "chunk", kChunks},
                                                 {kSharedLoadBankConflicts, 0, "launch", 1},
                                                 {kBarriers, 3, "chunk", kChunks}}},
                                     kShape, {}, {}, "bf16");

// The table of the page is for 64 tokens of one head, and here two heads of 128 are computed.
constexpr std::uint64_t kParts = 2 * 2;

Kernel two_chunks(const char* implementation) {
  ladder::LinearAttentionCase c =
      CausalDotProduct::make_case({.B = 1, .T = 128, .H = 2, .K = 64, .V = 64});
  c.precision = ladder::Precision::kBf16;
  return xray_of<CausalDotProduct>(implementation, c);
}

std::uint64_t conflicts(const Kernel& kernel) {
  return kernel[kSharedLoadBankConflicts] + kernel[kSharedStoreBankConflicts];
}

TEST(LdmatrixSwizzle, CountsWhatThePageSays) {
  const Kernel before = two_chunks("linear_attention_state_in_registers");
  const Kernel after = two_chunks("linear_attention_ldmatrix_swizzle");
  EXPECT_EQ(before[kSharedMatrixLoadRequests], 0u);
  EXPECT_EQ(after[kSharedLoadRequests], 0u);
  EXPECT_EQ(after[kSharedMatrixLoadRequests], kParts * (56 + 120 + 64));
  EXPECT_EQ(before[kSharedLoadWavefronts], kParts * 7680);
  EXPECT_EQ(after[kSharedLoadWavefronts], kParts * 240 * 4);
  EXPECT_EQ(before[kSharedStoreWavefronts], kParts * 512);
  EXPECT_EQ(after[kSharedStoreWavefronts], kParts * (192 + 40));
  EXPECT_EQ(conflicts(before), kParts * 6680);
  EXPECT_EQ(conflicts(after), 0u);
}

TEST(LdmatrixSwizzle, FetchesMultipliesAndWaitsAsBefore) {
  const Kernel before = two_chunks("linear_attention_state_in_registers");
  const Kernel after = two_chunks("linear_attention_ldmatrix_swizzle");
  for (const Counter counter :
       {kGlobalLoadRequests, kGlobalLoadSectors, kGlobalStoreRequests, kGlobalStoreSectors,
        kSharedStoreRequests, kSharedBytes, kTensorOperations, kBarriers})
    EXPECT_EQ(before[counter], after[counter]) << info(counter).name;
}

}  // namespace
