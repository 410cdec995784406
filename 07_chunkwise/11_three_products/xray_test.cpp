#include <gtest/gtest.h>

#include "common/operators/linear_attention/operator.hpp"
#include "common/testing/xray.hpp"

namespace {

using namespace emulator::xray;
using ladder::CausalDotProduct;
using ladder::testing::xray_of;

constexpr std::uint64_t kT = 64, kH = 2, kUnits = kT / 16, kStages = kT / 32, kWarps = 4;

Kernel xray(const char* implementation, ladder::Precision precision = ladder::Precision::kFp32) {
  ladder::LinearAttentionCase c =
      CausalDotProduct::make_case({.B = 1, .T = kT, .H = kH, .K = 64, .V = 64});
  c.precision = precision;
  return xray_of<CausalDotProduct>(implementation, c);
}

// Three stages, the last with six tokens, so that every buffer is reused.
const ladder::Shape kRagged{{"B", 1}, {"T", 70}, {"H", 2}, {"K", 64}, {"V", 64}};

const bool bounds = ladder::testing::register_bounds("linear_attention_three_products",
                                                     "causal_dot_product", kRagged);

// 16-byte vectors of q, k, v and o. Both sub-chunks of a stage are multiplied.
const bool registered = ladder::testing::register_budget(
    "linear_attention_three_products", "causal_dot_product",
    {.loads = 3.0 / 4,
     .stores = 1.0 / 4,
     .atomics = 0,
     .counts = {{kTensorOperations, 26 * 6, "unit of a warp", 2 * 4 * 6}}},
    kRagged);

// The table of the page.
TEST(ThreeProducts, TakeSixInstructionsInThePlaceOfOne) {
  const Kernel bf16 = xray("linear_attention_chunkwise", ladder::Precision::kBf16);
  const Kernel kernel = xray("linear_attention_three_products");
  EXPECT_EQ(bf16[kTensorOperations], kH * kWarps * kUnits * 26);
  EXPECT_EQ(kernel[kTensorOperations], kH * kWarps * kUnits * 26 * 6);
  // One tf32 instruction does half as much work.
  EXPECT_EQ(kernel[kTensorMultiplyAdds], 3 * bf16[kTensorMultiplyAdds]);
  EXPECT_EQ(kernel[kGlobalLoadBytesMoved], 2 * bf16[kGlobalLoadBytesMoved]);
  EXPECT_EQ(kernel[kBarriers], kH * (kStages + 1));
}

TEST(ThreeProducts, AskTheSameOfMemoryWithEitherSplit) {
  const Kernel cheap = xray("linear_attention_three_products");
  const Kernel nearest = xray("linear_attention_three_products_rna");
  for (const Counter counter : {kTensorOperations, kSharedLoadRequests, kSharedLoadWavefronts,
                                kGlobalLoadSectors, kGlobalStoreSectors, kBarriers})
    EXPECT_EQ(cheap[counter], nearest[counter]) << info(counter).name;
  for (const Access& access : cheap.accesses)
    EXPECT_EQ(access.bank_conflicts, 0u) << access.code;
}

}  // namespace
