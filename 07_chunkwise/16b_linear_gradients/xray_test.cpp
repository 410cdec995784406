#include <gtest/gtest.h>

#include <cstdint>
#include <utility>

#include "common/operators/linear_attention/operator.hpp"
#include "common/testing/xray.hpp"

namespace {

using namespace emulator::xray;
using ladder::CausalDotProduct;
using ladder::testing::xray_of;

// Two heads of three chunks, the last with two tokens, so that every buffer is reused.
const ladder::Shape kShape{{"B", 1}, {"T", 130}, {"H", 2}, {"K", 64}, {"V", 64}};
constexpr std::int64_t kRuns = 3, kChunks = kRuns * 2 * 3;  // of all runs

const bool bounds = ladder::testing::register_bounds(
    "linear_attention_gradients", "causal_dot_product_backward", kShape, {}, {"bf16"});

// For each element of dq, a run loads three arrays, eight elements at a time, and stores one, two
// elements at a time.
const bool registered =
    ladder::testing::register_budget("linear_attention_gradients", "causal_dot_product_backward",
                                     {.loads = kRuns * 3.0 / 8,
                                      .stores = kRuns * 1.0 / 2,
                                      .atomics = 0,
                                      .counts = {{kTensorOperations, 416, "chunk", kChunks},
                                                 {kSharedMatrixLoadRequests, 208, "chunk", kChunks},
                                                 {kSharedLoadBankConflicts, 0, "launch", kRuns},
                                                 {kBarriers, 1, "chunk", kChunks}}},
                                     kShape, {}, {}, "bf16");

// The table of the page, for one head of two chunks.
constexpr std::uint64_t kTokens = 128, kRowBytes = 64 * 2;

Kernel forward() {
  ladder::LinearAttentionCase c =
      CausalDotProduct::make_case({.B = 1, .T = kTokens, .H = 1, .K = 64, .V = 64});
  c.precision = ladder::Precision::kBf16;
  return xray_of<CausalDotProduct>("linear_attention_scores_in_registers", c);
}
Kernel gradients() {
  return xray_of("linear_attention_gradients", "causal_dot_product_backward",
                 {{"B", 1}, {"T", kTokens}, {"H", 1}, {"K", 64}, {"V", 64}}, {}, "bf16");
}

TEST(LinearAttentionGradients, TakeThreeTimesTheForwardPass) {
  const Kernel before = forward(), after = gradients();
  EXPECT_EQ(before.launches, 1u);
  EXPECT_EQ(after.launches, 3u);
  EXPECT_EQ(before[kTensorOperations], 832u);
  EXPECT_EQ(before[kBarriers], 2u);
  for (const Counter counter :
       {kTensorOperations, kBarriers, kSharedMatrixLoadRequests, kSharedLoadWavefronts,
        kAsyncCopies, kGlobalLoadBytesMoved, kGlobalLoadSectors, kGlobalStoreRequests,
        kGlobalStoreBytesAsked, kGlobalStoreSectors})
    EXPECT_EQ(after[counter], 3 * before[counter]) << info(counter).name;
  EXPECT_EQ(after[kSharedLoadBankConflicts], 0u);
  EXPECT_EQ(after[kSharedBytes], before[kSharedBytes]);
}

// Twelve arrays move, where seven are necessary.
TEST(LinearAttentionGradients, FetchSomeArraysAgain) {
  const Kernel kernel = gradients();
  std::uint64_t loads = 0;
  for (const auto& [name, times] : {std::pair{"q", 2u}, {"k", 2u}, {"v", 2u}, {"d_o", 3u}}) {
    const auto touched = kernel.buffer(name).loads().accesses_per_element;
    EXPECT_EQ(touched.least, times) << name;
    EXPECT_EQ(touched.most, times) << name;
    loads += times;
  }
  for (const char* name : {"dq", "dk", "dv"})
    EXPECT_EQ(kernel.buffer(name).stores().accesses_per_element.most, 1u) << name;
  EXPECT_EQ(kernel[kGlobalLoadBytesMoved], loads * kTokens * kRowBytes);
  EXPECT_EQ(kernel[kGlobalStoreBytesAsked], 3 * kTokens * kRowBytes);
  EXPECT_EQ(kernel[kGlobalLoadBytesMoved], 147456u);
  EXPECT_EQ(kernel[kGlobalStoreBytesAsked], 49152u);
}

}  // namespace
