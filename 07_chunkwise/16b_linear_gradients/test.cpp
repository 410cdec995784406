#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "07_chunkwise/16b_linear_gradients/causal_dot_product_backward.hpp"
#include "common/judge/mistakes.hpp"
#include "common/judge/operator.hpp"
#include "common/operators/linear_attention/operator.hpp"
#include "common/operators/linear_attention/truth.hpp"
#include "common/testing/hole.hpp"
#include "common/testing/suite.hpp"

namespace {

constexpr ladder::Arithmetic kBf16 = ladder::Arithmetic::kBf16Operands;

using ladder::testing::register_hole;

// Small, so that a wrong kernel can be run often, because running it shows which arrays it reads.
const bool small = register_hole(
    "linear_attention_gradients", "Hole2RunsTheProductThreeTimes", "causal_dot_product_backward",
    {{"B", 1}, {"T", 6}, {"H", 2}, {"K", 64}, {"V", 64}}, {}, {}, "bf16");

// One case for each stage of scratch.cu.
const bool stages =
    register_hole("linear_attention_gradients", "Stage1GoesBackInTime",
                  "causal_dot_product_backward",
                  {{"B", 2}, {"T", 70}, {"H", 1}, {"K", 64}, {"V", 64}}, {}, {}, "bf16") &&
    register_hole("linear_attention_gradients", "Stage2BringsTheNextChunkInTime",
                  "causal_dot_product_backward",
                  {{"B", 1}, {"T", 192}, {"H", 1}, {"K", 64}, {"V", 64}}, {}, {}, "bf16") &&
    register_hole("linear_attention_gradients", "Stage3MultipliesWithTheState",
                  "causal_dot_product_backward",
                  {{"B", 1}, {"T", 40}, {"H", 1}, {"K", 64}, {"V", 64}}, {}, {}, "bf16") &&
    register_hole("linear_attention_gradients", "Stage4RunsTheProductThreeTimes",
                  "causal_dot_product_backward",
                  {{"B", 2}, {"T", 5}, {"H", 3}, {"K", 64}, {"V", 64}}, {}, {}, "bf16");

// Chunks of 64 tokens, products of 16.
const bool registered = ladder::testing::register_suite(
    "causal_dot_product_backward", "linear_attention_gradients",
    {.storages = {"bf16"},
     .sizes = {{"B", {2, 1}}, {"T", {37, 0, 1, 65, 130}}, {"H", {3, 1}}, {"K", {64}}, {"V", {64}}},
     .most = {{"B", 65535}, {"H", 65535}, {"K", 64}, {"V", 64}},
     .nan_tile = 16,
     .borders = {{.size = "T",
                  .at = {16, 64, 128},
                  .others = {{"B", 1}, {"H", 2}, {"K", 64}, {"V", 64}}}}});

// The loss is the sum of d_o times o, so that d_o is its gradient by o. It is linear in each
// element of q, k and v, so when an element grows by 1, the loss grows by exactly the gradient.
TEST(linear_attention_gradients, TruthIsWhatTheLossGrowsBy) {
  const ladder::Shape shape{{"B", 2}, {"T", 7}, {"H", 2}, {"K", 3}, {"V", 5}};
  const auto problem =
      ladder::find_operator("causal_dot_product_backward").make_case(shape, {}, "bf16")->make();
  ladder::LinearAttentionProblem forward = ladder::make_problem(ladder::CausalDotProduct::make_case(
      {.B = shape["B"], .T = shape["T"], .H = shape["H"], .K = shape["K"], .V = shape["V"]}));
  std::vector<float> d_o;
  for (const ladder::RealInput& input : problem->real_inputs())
    (input.array.name == "d_o" ? d_o : forward[input.array.name]) = input.values;
  const auto loss = [&] {
    const std::vector<double> o = ladder::linear_attention_recurrence(forward);
    double sum = 0;
    for (std::size_t i = 0; i < o.size(); ++i)
      sum += d_o[i] * o[i];
    return sum;
  };
  const double before = loss();
  std::vector<std::vector<double>> growths;
  for (const char* name : {"q", "k", "v"}) {
    growths.emplace_back();
    for (float& x : forward[name]) {
      const float own = std::exchange(x, x + 1);
      growths.back().push_back((loss() - before) / (static_cast<double>(x) - own));
      x = own;
    }
  }
  const std::vector<unsigned char> zeros(2 * (2 * growths[0].size() + growths[2].size()));
  problem->holding(zeros, "")->examine(kBf16, [&](const ladder::Examined& examined) {
    for (std::size_t n = 0; n < growths.size(); ++n) {
      const ladder::Part& part = examined.parts[n];
      for (std::size_t i = 0; i < growths[n].size(); ++i)
        EXPECT_NEAR((*part.truth)[i], growths[n][i], 1e-12) << part.layout.position(i);
    }
  });
}

}  // namespace
