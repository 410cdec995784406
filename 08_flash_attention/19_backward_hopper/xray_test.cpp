#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "common/operators/attention/operator.hpp"
#include "common/testing/xray.hpp"

namespace {

using namespace emulator::xray;
using ladder::testing::xrays_of;

constexpr const char* kName = "attention_backward_sm90";

const bool bounds = ladder::testing::register_bounds(
    kName, "attention_backward",
    {{"B", 1}, {"T", 37}, {"H", 2}, {"K", 64}, {"V", 64}, {"T_q", 21}, {"H_kv", 1}}, {}, {"bf16"});

const bool bounds_with_options = ladder::testing::register_bounds(
    kName, "attention_backward",
    {{"B", 1}, {"T", 150}, {"H", 2}, {"K", 40}, {"V", 40}, {"T_q", 131}, {"H_kv", 1}},
    {{"causal", "true"}, {"window", "20"}, {"softcap", "3"}}, {"fp16"});

// For all kernels of a run together.
std::uint64_t multiply_adds(const ladder::AttentionCase& c) {
  std::uint64_t sum = 0;
  for (const Kernel& kernel : xrays_of<ladder::AttentionBackward>(kName, c))
    sum += kernel[kTensorMultiplyAdds];
  return sum;
}

// 128 keys are one block's, and 128 queries two steps. The product for dq comes a step late, so
// there is one more than there are steps.
TEST(AttentionBackwardSm90, TakesFiveProductsAndOneStepMoreForDq) {
  constexpr std::uint64_t kStep = 64 * 128 * 128, kSteps = 2;
  ladder::AttentionCase c{.T_q = 128, .T_k = 128, .D = 128};
  c.precision = ladder::Precision::kBf16;
  EXPECT_EQ(multiply_adds(c), (4 * kSteps + kSteps + 1) * kStep);
}

// 96 channels arrive padded with zeros to 128, and cost as many products. Stores cover 96.
TEST(AttentionBackwardSm90, PadsWithZerosThatNobodyStores) {
  ladder::AttentionCase c{.T_q = 128, .T_k = 128, .D = 128};
  c.precision = ladder::Precision::kBf16;
  const std::uint64_t whole = multiply_adds(c);
  c.D = 96;
  EXPECT_EQ(multiply_adds(c), whole);
  const std::vector<Kernel> kernels = xrays_of<ladder::AttentionBackward>(kName, c);
  ASSERT_EQ(kernels.size(), 3u);  // prepare, gradients, finish
  constexpr std::uint64_t kTensor = 128 * 96 * 2, kTiles = 4 * 128 * 128 * 2;
  constexpr std::uint64_t kStats = 128 * 8;  // lse and delta of each query
  EXPECT_EQ(kernels[1][kBulkCopyBytes], kTiles + kStats);
  for (const char* const name : {"dk", "dv"})
    EXPECT_EQ(kernels[1].buffer(name).stores().bytes_asked, kTensor) << name;
  EXPECT_EQ(kernels[2].buffer("dq").stores().bytes_asked, kTensor);
}

// The same holds for values of another width, because all five products use the wider tile.
TEST(AttentionBackwardSm90, TakesTheWiderTileForAllWhereValuesHaveAnotherWidth) {
  ladder::AttentionCase c{.T_q = 128, .T_k = 128, .D = 128};
  c.precision = ladder::Precision::kBf16;
  const std::uint64_t whole = multiply_adds(c);
  c.D_v = 64;
  EXPECT_EQ(multiply_adds(c), whole);
  const std::vector<Kernel> kernels = xrays_of<ladder::AttentionBackward>(kName, c);
  ASSERT_EQ(kernels.size(), 3u);
  EXPECT_EQ(kernels[1].buffer("dk").stores().bytes_asked, std::uint64_t{2} * 128 * 128);
  EXPECT_EQ(kernels[1].buffer("dv").stores().bytes_asked, std::uint64_t{2} * 128 * 64);
}

// Only the steps that overlap a window, out of four tiles of 128 keys and eight steps of 64
// queries. Each block computes one product more, for dq.
TEST(AttentionBackwardSm90, TakesTheStepsThatTheWindowMeets) {
  constexpr std::uint64_t kStep = 64 * 128 * 64;
  const auto steps = [](std::int64_t window) {
    ladder::AttentionCase c{.T_q = 512, .T_k = 512, .D = 64, .causal = true, .window = window};
    c.precision = ladder::Precision::kBf16;
    return (multiply_adds(c) / kStep - 4) / 5;
  };
  EXPECT_EQ(steps(0), 8u + 6 + 4 + 2);
  EXPECT_EQ(steps(66), 4u + 4 + 4 + 2);
  EXPECT_EQ(steps(65), 3u + 3 + 3 + 2);
  EXPECT_EQ(steps(1), 2u + 2 + 2 + 2);
}

}  // namespace
