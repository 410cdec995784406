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

// 128 keys are one block's, 128 queries two steps. The product for dq comes a step late: once more than there are steps.
TEST(AttentionBackwardSm90, TakesFiveProductsAndOneStepMoreForDq) {
  constexpr std::uint64_t kStep = 64 * 128 * 128, kSteps = 2;
  std::uint64_t sum = 0;
  for (const Kernel& kernel : xrays_of<ladder::AttentionBackward>(
           kName, {.T_q = 128, .T_k = 128, .D = 128, .precision = ladder::Precision::kBf16}))
    sum += kernel[kTensorMultiplyAdds];
  EXPECT_EQ(sum, (4 * kSteps + kSteps + 1) * kStep);
}

}  // namespace
