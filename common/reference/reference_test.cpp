// The judge is judged: the recurrence against the closed sum, and both against values worked out by hand.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "common/core/error_metrics.hpp"
#include "common/reference/linear_attention.hpp"
#include "common/reference/wkv.hpp"

namespace ladder::reference {
namespace {

constexpr double kRounding = 1e-12;

void expect_close(const std::vector<double>& a, const std::vector<double>& b) {
  ASSERT_EQ(a.size(), b.size());
  double difference = 0, size = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    ASSERT_TRUE(std::isfinite(a[i]) && std::isfinite(b[i])) << "element " << i;
    difference += (a[i] - b[i]) * (a[i] - b[i]);
    size += b[i] * b[i];
  }
  EXPECT_LE(std::sqrt(difference), kRounding * std::sqrt(size));
}

class WkvForms : public ::testing::TestWithParam<WkvCase> {};

TEST_P(WkvForms, RecurrenceEqualsClosedSum) {
  const WkvProblem problem = make_problem(GetParam());
  const auto recurrence = wkv_recurrence(problem);
  const auto closed = wkv_closed_sum(problem);
  expect_close(recurrence.o, closed.o);
  expect_close(recurrence.final_state, closed.final_state);
}

std::vector<WkvCase> wkv_forms() {
  std::vector<WkvCase> cases;
  for (Decay decay :
       {Decay::kNone, Decay::kMild, Decay::kStrong, Decay::kTotal, Decay::kStrongToken}) {
    for (bool per_head : {false, true}) {
      for (bool reverse : {false, true}) {
        cases.push_back({.B = 2,
                         .T = 19,
                         .H = 3,
                         .K = 5,
                         .V = 7,
                         .decay = decay,
                         .decay_per_head = per_head,
                         .initial_state = true,
                         .final_state = true,
                         .reverse = reverse,
                         .scale = 0.5f});
      }
    }
  }
  cases.push_back(
      {.B = 1, .T = 0, .H = 2, .K = 3, .V = 4, .initial_state = true, .final_state = true});
  cases.push_back({.B = 1, .T = 1, .H = 1, .K = 1, .V = 1});
  cases.push_back({.B = 0, .T = 3, .H = 1, .K = 2, .V = 2});
  return cases;
}

INSTANTIATE_TEST_SUITE_P(All, WkvForms, ::testing::ValuesIn(wkv_forms()),
                         [](const auto& info) { return name_of(info.param); });

// One head, K = V = 1, so that the formula fits on a line.
WkvProblem scalar_problem(std::vector<float> q, std::vector<float> k, std::vector<float> v,
                          std::vector<float> w, float u) {
  WkvProblem problem = make_problem(
      WkvCase{.B = 1, .T = static_cast<std::int64_t>(q.size()), .H = 1, .K = 1, .V = 1});
  problem.q.data = std::move(q);
  problem.k.data = std::move(k);
  problem.v.data = std::move(v);
  for (std::size_t t = 0; t < w.size(); ++t)
    problem.log_w.data[t] = std::log(w[t]);
  problem.u.data = {u};
  return problem;
}

TEST(Wkv, FollowsTheFormulaByHand) {
  const auto result =
      wkv_recurrence(scalar_problem({1, 2, 3}, {1, 2, 4}, {3, 5, 7}, {0.5f, 0.25f, 1}, 10));
  // S: 0, then 3, then 0.25 * 3 + 10 = 10.75, then 10.75 + 28
  ASSERT_EQ(result.o.size(), 3u);
  EXPECT_DOUBLE_EQ(result.o[0], 1 * (0 + 10 * 3));
  EXPECT_DOUBLE_EQ(result.o[1], 2 * (3 + 10 * 10));
  EXPECT_NEAR(result.o[2], 3 * (10.75 + 10 * 28), 1e-6);
  EXPECT_NEAR(result.final_state[0], 38.75, 1e-6);
}

TEST(Wkv, TotalDecayForgetsExactly) {
  const auto result =
      wkv_recurrence(scalar_problem({1, 1, 1}, {1, 0, 0}, {1e30f, 0, 0}, {1, 0, 1}, 0));
  EXPECT_GT(result.o[1], 9e29);
  EXPECT_EQ(result.o[2], 0.0);
}

TEST(Wkv, WithoutDecayAndWithUnitBonusIsCausalLinearAttention) {
  const WkvCase c{.B = 2, .T = 11, .H = 3, .K = 4, .V = 6, .decay = Decay::kNone};
  WkvProblem problem = make_problem(c);
  std::fill(problem.u.data.begin(), problem.u.data.end(), 1.0f);
  LinearAttentionProblem attention =
      make_problem(LinearAttentionCase{.B = 2,
                                       .T_q = 11,
                                       .T_k = 11,
                                       .H = 3,
                                       .K = 4,
                                       .V = 6,
                                       .feature_map = FeatureMap::kIdentity,
                                       .normalize = false});
  attention.q = problem.q;
  attention.k = problem.k;
  attention.v = problem.v;
  expect_close(wkv_recurrence(problem).o, linear_attention_recurrence(attention));
}

TEST(LinearAttention, RecurrenceEqualsClosedSum) {
  for (bool causal : {false, true}) {
    for (bool normalize : {false, true}) {
      for (FeatureMap map : {FeatureMap::kIdentity, FeatureMap::kEluPlusOne}) {
        if (normalize && map == FeatureMap::kIdentity) continue;
        for (bool lengths : {false, true}) {
          for (auto [T_q, T_k] : {std::pair{13, 13}, {13, 8}, {8, 13}, {1, 4}, {3, 0}, {0, 3}}) {
            const LinearAttentionCase c{.B = 3,
                                        .T_q = T_q,
                                        .T_k = T_k,
                                        .H = 2,
                                        .K = 5,
                                        .V = 7,
                                        .causal = causal,
                                        .feature_map = map,
                                        .normalize = normalize,
                                        .key_lengths = lengths};
            SCOPED_TRACE(name_of(c));
            const LinearAttentionProblem problem = make_problem(c);
            expect_close(linear_attention_recurrence(problem),
                         linear_attention_closed_sum(problem));
          }
        }
      }
    }
  }
}

TEST(LinearAttention, OneKeyGivesItsValue) {
  const LinearAttentionProblem problem =
      make_problem(LinearAttentionCase{.B = 1, .T_q = 4, .T_k = 1, .H = 1, .K = 3, .V = 2});
  const auto o = linear_attention_recurrence(problem);
  for (int l = 0; l < 4; ++l) {
    for (int i = 0; i < 2; ++i)
      EXPECT_NEAR(o[l * 2 + i], problem.v.data[i], 1e-5);
  }
}

}  // namespace
}  // namespace ladder::reference
