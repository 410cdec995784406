// Compares the layer with its formula worked out for one channel, and tests the parts that a single
// channel cannot show.
#include "07_chunkwise/06_gla_layer/gla_layer_operator.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

namespace ladder {
namespace {

TEST(GlaLayer, FollowsTheFormulaByHand) {
  GlaLayerProblem problem(
      GlaLayerCase{{.B = 1, .T = 2, .d_model = 1, .H = 1, .K = 1, .V = 1, .rank = 1}});
  problem["x"] = {1, 2};
  problem["w_q"] = {2}, problem["w_k"] = {3}, problem["w_v"] = {0.5};
  problem["w_1"] = {-4}, problem["w_2"] = {5}, problem["b"] = {7};
  problem["norm"] = {1.5}, problem["w_g"] = {0.25}, problem["w_o"] = {-2};
  // In step 2, logit = 2 * -4 * 5 + 7 = -33, S_1 = 3 * 0.5 and S_2 = exp(g) S_1 + 6 * 1.
  const double g = -std::log1p(std::exp(33.0)) / 16, eps = 1e-5f;
  const double o_1 = 2 * 1.5, o_2 = 4 * (std::exp(g) * 1.5 + 6);
  const auto y = [&](double o, double z) {
    return o / std::sqrt(o * o + eps) * 1.5 * (z / (1 + std::exp(-z))) * -2;
  };
  const auto result = gla_layer(problem.args());
  ASSERT_EQ(result.size(), 2u);
  EXPECT_NEAR(result[0], y(o_1, 0.25), 1e-14);
  EXPECT_NEAR(result[1], y(o_2, 0.5), 1e-14);
}

// Two heads are two layers of one head, each with its columns of the weights, added.
TEST(GlaLayer, HeadsOnlyMeetInTheOutputProjection) {
  const GlaLayerProblem both(
      GlaLayerCase{{.B = 2, .T = 5, .d_model = 6, .H = 2, .K = 3, .V = 4, .rank = 2}});
  std::vector<double> sum(both["x"].size());
  for (std::int64_t h = 0; h < 2; ++h) {
    GlaLayerProblem one = both;
    one.drawn_case().H = 1;
    const auto columns = [&](const char* name, std::int64_t per_head) {
      const std::vector<float>& weight = both[name];
      std::vector<float> part;
      for (std::size_t at = h * per_head; at < weight.size(); at += 2 * per_head)
        part.insert(part.end(), weight.begin() + at, weight.begin() + at + per_head);
      one[name] = part;
    };
    for (const char* name : {"w_q", "w_k", "w_2", "b"})
      columns(name, 3);
    columns("w_v", 4), columns("w_g", 4);
    const auto begin = both["w_o"].begin() + h * 4 * 6;
    one["w_o"].assign(begin, begin + 4 * 6);
    const auto part = gla_layer(one.args());
    for (std::size_t i = 0; i < sum.size(); ++i)
      sum[i] += part[i];
  }
  const auto result = gla_layer(both.args());
  for (std::size_t i = 0; i < sum.size(); ++i)
    EXPECT_NEAR(result[i], sum[i], 1e-13);
}

TEST(GlaLayer, ThePlainOneIsFp32) {
  const GlaLayerProblem problem(
      GlaLayerCase{{.B = 1, .T = 20, .d_model = 64, .H = 2, .K = 16, .V = 32}});
  const auto truth = gla_layer(problem.args());
  const auto plain = gla_layer_plain_fp32(problem.args());
  double error = 0, size = 0;
  for (std::size_t i = 0; i < truth.size(); ++i) {
    error += (plain[i] - truth[i]) * (plain[i] - truth[i]);
    size += truth[i] * truth[i];
  }
  EXPECT_GT(std::sqrt(error / size), 1e-9);
  EXPECT_LT(std::sqrt(error / size), 1e-5);
}

}  // namespace
}  // namespace ladder
