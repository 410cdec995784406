#include <gtest/gtest.h>

#include "common/testing/xray.hpp"

namespace {

using namespace emulator::xray;
using ladder::Precision;
using ladder::testing::xray_of;
using ladder::testing::xrays_of;

// Short enough for one segment of time.
constexpr ladder::bench::Shape kShape{.B = 1, .T = 150, .H = 2, .K = 64, .V = 64};

Kernel walk(Precision precision) {
  return xray_of("linear_attention_chunkwise",
                 {.op = "causal_dot_product", .shape = kShape, .precision = precision});
}

TEST(LinearAttentionChunkwise, MovesHardlyMoreThanItMust) {
  for (const Precision precision : {Precision::kBf16, Precision::kFp32}) {
    const Kernel kernel = walk(precision);
    const double bytes = kernel[kGlobalLoadBytesMoved] + kernel[kGlobalStoreBytesMoved];
    const double compulsory =
        4.0 * kShape.B * kShape.T * kShape.H * 64 * (precision == Precision::kBf16 ? 2 : 4);
    EXPECT_LE(bytes, 1.1 * compulsory);
    EXPECT_EQ(kernel.buffer("o").stores().accesses_per_element.most, 1u);
  }
}

TEST(LinearAttentionChunkwise, ConflictsInNoBank) {
  for (const Precision precision : {Precision::kBf16, Precision::kFp32}) {
    const Kernel kernel = walk(precision);
    EXPECT_GT(kernel[kSharedLoadRequests], 0u);
    EXPECT_EQ(kernel[kSharedLoadBankConflicts] + kernel[kSharedStoreBankConflicts], 0u);
  }
}

TEST(LinearAttentionChunkwise, TakesOneBarrierPerStage) {
  EXPECT_EQ(walk(Precision::kBf16)[kBarriers], 2u * ((150 + 63) / 64));
  EXPECT_EQ(walk(Precision::kFp32)[kBarriers], 2u * ((150 + 31) / 32));
}

// Segments of time read keys and values twice, queries once.
TEST(LinearAttentionChunkwise, ReadsKeysAndValuesTwiceWhereTimeIsCut) {
  ladder::bench::Shape shape = kShape;
  shape.T = 600;
  const auto kernels =
      xrays_of("linear_attention_chunkwise",
               {.op = "causal_dot_product", .shape = shape, .precision = Precision::kBf16});
  ASSERT_EQ(kernels.size(), 2u);
  EXPECT_EQ(kernels[0].buffer("k").loads().accesses_per_element.most, 1u);
  EXPECT_EQ(kernels[1].buffer("k").loads().accesses_per_element.most, 1u);
  EXPECT_EQ(kernels[1].buffer("q").loads().accesses_per_element.most, 1u);
}

}  // namespace
