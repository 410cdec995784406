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

std::uint64_t multiply_adds(const ladder::AttentionBackward::Case& c) {
  std::uint64_t sum = 0;
  for (const Kernel& kernel : xrays_of<ladder::AttentionBackward>(kName, c))
    sum += kernel[kTensorMultiplyAdds];
  return sum;
}

constexpr std::uint64_t kStep = 64 * 128 * 128;

// 128 keys are one block's, 128 queries two steps. The product for dq comes a step late: once more than there are steps.
TEST(AttentionBackwardSm90, TakesFiveProductsAndOneStepMoreForDq) {
  EXPECT_EQ(
      multiply_adds({.T_q = 128, .T_k = 128, .D = 128, .precision = ladder::Precision::kBf16}),
      (5 * 2 + 1) * kStep);
}

// In the causal form nobody but the last 128 of 256 queries sees the second block's keys: four steps and two.
TEST(AttentionBackwardSm90, LeavesOutTilesThatNobodySees) {
  EXPECT_EQ(multiply_adds({.T_q = 256,
                           .T_k = 256,
                           .D = 128,
                           .causal = true,
                           .precision = ladder::Precision::kBf16}),
            (5 * (4 + 2) + 2) * kStep);
}

}  // namespace
