#include <gtest/gtest.h>

#include <string>
#include <tuple>

#include "common/operators/linear_attention/operator.hpp"
#include "common/testing/xray.hpp"

namespace {

using namespace emulator::xray;
using ladder::Precision;
using ladder::testing::xray_of;

// Whole stages, few enough for one segment of time.
constexpr ladder::LinearAttentionSizes kShape{.B = 1, .T = 128, .H = 2, .K = 64, .V = 64};

Kernel walk(Precision precision, const ladder::LinearAttentionSizes& shape = kShape) {
  ladder::LinearAttentionCase c = ladder::CausalDotProduct::make_case(shape);
  c.precision = precision;
  return xray_of<ladder::CausalDotProduct>("linear_attention_chunkwise", c);
}

const bool bounds =
    ladder::testing::register_bounds("linear_attention_chunkwise", "linear_attention",
                                     ladder::testing::kRaggedShape, {}, {"fp32", "bf16", "fp16"});

TEST(LinearAttentionChunkwise, MovesHardlyMoreThanItMust) {
  for (const Precision precision : {Precision::kBf16, Precision::kFp32}) {
    const Kernel kernel = walk(precision);
    const auto bytes =
        static_cast<double>(kernel[kGlobalLoadBytesMoved] + kernel[kGlobalStoreBytesMoved]);
    const double compulsory =
        4.0 * kShape.T * kShape.H * 64 * (precision == Precision::kBf16 ? 2 : 4);
    EXPECT_LE(bytes, 1.1 * compulsory);
    EXPECT_EQ(kernel.buffer("o").stores().accesses_per_element.most, 1u);
  }
}

TEST(LinearAttentionChunkwise, ConflictsInNoBank) {
  for (const Precision precision : {Precision::kBf16, Precision::kFp32}) {
    const Kernel kernel = walk(precision);
    EXPECT_GT(kernel[kSharedLoadRequests], 0u);
    for (const Access& access : kernel.accesses)
      EXPECT_EQ(access.bank_conflicts, 0u) << access.code;
  }
}

// One more barrier precedes the store of the last outputs.
TEST(LinearAttentionChunkwise, TakesOneBarrierPerStage) {
  EXPECT_EQ(walk(Precision::kBf16)[kBarriers], 2u * ((128 + 63) / 64 + 1));
  EXPECT_EQ(walk(Precision::kFp32)[kBarriers], 2u * ((128 + 31) / 32 + 1));
}

// With two segments there is a pass that sums keys and values, and a pass for the outputs.
TEST(LinearAttentionChunkwise, ReadsKeysAndValuesTwiceWhereTimeIsCut) {
  const Kernel kernel = walk(Precision::kBf16, {.B = 1, .T = 600, .H = 2, .K = 64, .V = 64});
  EXPECT_EQ(kernel.buffer("q").loads().accesses_per_element.most, 1u);
  EXPECT_EQ(kernel.buffer("k").loads().accesses_per_element.most, 2u);
  EXPECT_EQ(kernel.buffer("v").loads().accesses_per_element.most, 2u);
}

// K = V = 100 in 16 bits, so rows begin at multiples of 8 bytes, but not of 16.
TEST(LinearAttentionChunkwise, CopiesRowsInTheWidestPiecesThatTheyConsistOf) {
  for (const auto& [storage, size, bytes] : {std::tuple{"bf16", 104, 16u},
                                             {"bf16", 100, 8u},
                                             {"fp16", 100, 8u},
                                             {"bf16", 98, 2u},
                                             {"fp32", 98, 8u},
                                             {"fp32", 97, 4u}}) {
    const ladder::Shape shape = {{"B", 1}, {"T", 9}, {"H", 2}, {"K", size}, {"V", size}};
    const Kernel kernel =
        xray_of("linear_attention_chunkwise", "linear_attention", shape, {}, storage);
    for (const char* name : {"q", "k", "v", "o"}) {
      const bool is_output = name == std::string("o");
      const Traffic& traffic =
          is_output ? kernel.buffer(name).stores() : kernel.buffer(name).loads();
      EXPECT_GT(traffic.accesses, 0u);
      EXPECT_EQ(traffic.bytes_asked, traffic.accesses * bytes)
          << name << " in " << storage << ", K = V = " << size;
    }
  }
}

}  // namespace
