// The layer against its formula worked out for one channel, and the parts that a single channel cannot show.
#include "07_chunkwise/06_gla_layer/gla_layer_operator.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

namespace ladder::reference {
namespace {

TEST(GlaLayer, FollowsTheFormulaByHand) {
  GlaLayerProblem problem =
      make_problem(GlaLayerCase{.B = 1, .T = 2, .d_model = 1, .H = 1, .K = 1, .V = 1, .rank = 1});
  problem.x.data = {1, 2};
  problem.w_q.data = {2}, problem.w_k.data = {3}, problem.w_v.data = {0.5};
  problem.w_1.data = {-4}, problem.w_2.data = {5}, problem.b.data = {7};
  problem.norm.data = {1.5}, problem.w_g.data = {0.25}, problem.w_o.data = {-2};
  // Step 2: logit 2 * -4 * 5 + 7 = -33; S_1 = 3 * 0.5, S_2 = exp(g) S_1 + 6 * 1.
  const double g = -std::log1p(std::exp(33.0)) / 16, eps = 1e-5f;
  const double o_1 = 2 * 1.5, o_2 = 4 * (std::exp(g) * 1.5 + 6);
  const auto y = [&](double o, double z) {
    return o / std::sqrt(o * o + eps) * 1.5 * (z / (1 + std::exp(-z))) * -2;
  };
  const auto result = gla_layer(problem);
  ASSERT_EQ(result.size(), 2u);
  EXPECT_NEAR(result[0], y(o_1, 0.25), 1e-14);
  EXPECT_NEAR(result[1], y(o_2, 0.5), 1e-14);
}

// Two heads are two layers of one head, each with its columns of the weights, added.
TEST(GlaLayer, HeadsOnlyMeetInTheOutputProjection) {
  const GlaLayerProblem both =
      make_problem(GlaLayerCase{.B = 2, .T = 5, .d_model = 6, .H = 2, .K = 3, .V = 4, .rank = 2});
  std::vector<double> sum(both.x.data.size());
  for (std::int64_t h = 0; h < 2; ++h) {
    GlaLayerProblem one = both;
    one.layer_case.H = 1;
    const auto columns = [&](Tensor<float>& weight, std::int64_t per_head) {
      const std::int64_t rows = weight.size() / (2 * per_head);
      Tensor<float> part({rows, per_head});
      for (std::int64_t row = 0; row < rows; ++row) {
        std::copy_n(weight.data.begin() + row * 2 * per_head + h * per_head, per_head,
                    part.data.begin() + row * per_head);
      }
      weight = part;
    };
    columns(one.w_q, 3), columns(one.w_k, 3), columns(one.w_2, 3), columns(one.b, 3);
    columns(one.w_v, 4), columns(one.w_g, 4);
    Tensor<float> w_o({4, 6});
    std::copy_n(both.w_o.data.begin() + h * 4 * 6, 4 * 6, w_o.data.begin());
    one.w_o = w_o;
    const auto part = gla_layer(one);
    for (std::size_t i = 0; i < sum.size(); ++i)
      sum[i] += part[i];
  }
  const auto result = gla_layer(both);
  for (std::size_t i = 0; i < sum.size(); ++i)
    EXPECT_NEAR(result[i], sum[i], 1e-13);
}

TEST(GlaLayer, TheYardstickIsFp32) {
  const GlaLayerProblem problem = make_problem(GlaLayerCase{.B = 1, .T = 20});
  const auto truth = gla_layer(problem);
  const auto yardstick = gla_layer_plain_fp32(problem);
  double error = 0, size = 0;
  for (std::size_t i = 0; i < truth.size(); ++i) {
    error += (yardstick[i] - truth[i]) * (yardstick[i] - truth[i]);
    size += truth[i] * truth[i];
  }
  EXPECT_GT(std::sqrt(error / size), 1e-9);
  EXPECT_LT(std::sqrt(error / size), 1e-5);
}

}  // namespace
}  // namespace ladder::reference
