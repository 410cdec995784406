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

const bool bounds = ladder::testing::register_bounds("linear_attention_chunk_products",
                                                     "causal_dot_product", kShape, {}, {"bf16"});

// Each of q, k and v is loaded once, eight elements at a time, and o is stored two at a time.
const bool registered =
    ladder::testing::register_budget("linear_attention_chunk_products", "causal_dot_product",
                                     {.loads = 3.0 / 8,
                                      .stores = 1.0 / 2,
                                      .atomics = 0,
                                      .counts = {{kTensorOperations, 416, "chunk", kChunks},
                                                 {kSharedLoadRequests, 1472, "chunk", kChunks},
                                                 {kBarriers, 3, "chunk", kChunks}}},
                                     kShape, {}, {}, "bf16");

// The table of the page is for 64 tokens of one head, and here two heads of 128 are computed.
constexpr std::uint64_t kParts = 2 * 2;

Kernel two_chunks(const char* implementation, ladder::Precision precision) {
  ladder::LinearAttentionCase c =
      CausalDotProduct::make_case({.B = 1, .T = 128, .H = 2, .K = 64, .V = 64});
  c.precision = precision;
  return xray_of<CausalDotProduct>(implementation, c);
}

TEST(ChunkProducts, CountsWhatThePageSaysOfTheWalkBefore) {
  const Kernel kernel = two_chunks("linear_attention_chunk_walk", ladder::Precision::kFp32);
  EXPECT_EQ(kernel[kSharedLoadRequests], kParts * 45568);
  EXPECT_EQ(kernel[kSharedLoadWavefronts] + kernel[kSharedStoreWavefronts], kParts * 46848);
  EXPECT_EQ(kernel[kSharedLoadBankConflicts] + kernel[kSharedStoreBankConflicts], 0u);
  EXPECT_EQ(kernel[kBarriers], kParts * 32);
  EXPECT_EQ(kernel[kTensorOperations], 0u);
}

TEST(ChunkProducts, CountsWhatThePageSays) {
  const Kernel kernel = two_chunks("linear_attention_chunk_products", ladder::Precision::kBf16);
  EXPECT_EQ(kernel[kTensorOperations], kParts * (128 + 128 + 80 + 80));
  EXPECT_EQ(kernel[kSharedLoadRequests], kParts * (224 + 672 + 576));
  EXPECT_EQ(kernel[kSharedLoadWavefronts] + kernel[kSharedStoreWavefronts], kParts * 9792);
  EXPECT_EQ(kernel[kSharedLoadBankConflicts] + kernel[kSharedStoreBankConflicts], kParts * 7832);
  EXPECT_EQ(kernel[kBarriers], kParts * 3);
  EXPECT_EQ(kernel[kSharedBytes], 48u * 1024);
  for (const char* name : {"q", "k", "v"})
    EXPECT_EQ(kernel.buffer(name).loads().accesses_per_element.most, 1u) << name;
  EXPECT_EQ(kernel.buffer("o").stores().accesses_per_element.most, 1u);
}

}  // namespace
