// Compares the recurrence with the closed sum, and both with values computed by hand.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "common/operators/wkv/operator.hpp"
#include "common/testing/self_test.hpp"

namespace ladder {
namespace {

using testing::expect_close;

class WkvForms : public ::testing::TestWithParam<WkvCase> {};

TEST_P(WkvForms, RecurrenceEqualsClosedSum) {
  const WkvProblem problem = make_problem(GetParam());
  const auto recurrence = wkv_recurrence(problem.args());
  const auto closed = wkv_closed_sum(problem.args());
  expect_close(recurrence.o, closed.o);
  expect_close(recurrence.final_state, closed.final_state);
}

std::vector<WkvCase> wkv_forms() {
  std::vector<WkvCase> cases;
  for (Recurrence recurrence : {Recurrence::kWkv, Recurrence::kGla}) {
    for (Decay decay :
         {Decay::kNone, Decay::kMild, Decay::kStrong, Decay::kTotal, Decay::kStrongToken}) {
      for (bool per_head : {false, true}) {
        for (bool reverse : {false, true}) {
          WkvCase c{.recurrence = recurrence, .B = 2, .T = 19, .H = 3, .K = 5, .V = 7};
          c.decay = decay;
          c.decay_per_head = per_head;
          c.initial_state = c.final_state = true;
          c.reverse = reverse;
          c.scale = 0.5f;
          cases.push_back(c);
          if (decay == Decay::kMild) cases.push_back(packed(c, {5, 0, 17, 1}));
        }
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
  WkvProblem problem = make_problem(WkvCase{.T = std::ssize(q), .K = 1, .V = 1});
  problem["q"] = std::move(q);
  problem["k"] = std::move(k);
  problem["v"] = std::move(v);
  for (std::size_t t = 0; t < w.size(); ++t)
    problem["log_w"][t] = std::log(w[t]);
  problem["u"] = {u};
  return problem;
}

TEST(Wkv, FollowsTheFormulaByHand) {
  const auto result =
      wkv_recurrence(scalar_problem({1, 2, 3}, {1, 2, 4}, {3, 5, 7}, {0.5f, 0.25f, 1}, 10).args());
  // S: 0, then 3, then 0.25 * 3 + 10 = 10.75, then 10.75 + 28
  ASSERT_EQ(result.o.size(), 3u);
  EXPECT_DOUBLE_EQ(result.o[0], 1 * (0 + 10 * 3));
  EXPECT_DOUBLE_EQ(result.o[1], 2 * (3 + 10 * 10));
  EXPECT_NEAR(result.o[2], 3 * (10.75 + 10 * 28), 1e-6);
  EXPECT_NEAR(result.final_state[0], 38.75, 1e-6);
}

TEST(Wkv, TotalDecayForgetsExactly) {
  const auto result =
      wkv_recurrence(scalar_problem({1, 1, 1}, {1, 0, 0}, {1e30f, 0, 0}, {1, 0, 1}, 0).args());
  EXPECT_GT(result.o[1], 9e29);
  EXPECT_EQ(result.o[2], 0.0);
}

TEST(Wkv, WithoutDecayAndWithUnitBonusIsCausalLinearAttention) {
  const WkvCase c{.B = 2, .T = 11, .H = 3, .K = 4, .V = 6, .decay = Decay::kNone};
  WkvProblem problem = make_problem(c);
  std::fill(problem["u"].begin(), problem["u"].end(), 1.0f);
  const WkvArgs a = problem.args();
  std::vector<double> o(c.B * c.T * c.H * c.V, 0.0);
  for (std::int64_t query = 0; query < c.B * c.T * c.H; ++query) {
    const std::int64_t first = query / (c.T * c.H) * (c.T * c.H) + query % c.H;
    for (std::int64_t key = first; key <= query; key += c.H) {
      double score = 0;
      for (std::int64_t j = 0; j < c.K; ++j)
        score += static_cast<double>(a.q[query * c.K + j]) * a.k[key * c.K + j];
      for (std::int64_t i = 0; i < c.V; ++i)
        o[query * c.V + i] += score * a.v[key * c.V + i];
    }
  }
  expect_close(wkv_recurrence(a).o, o);
}

TEST(Gla, FollowsTheFormulaByHand) {
  WkvProblem problem = scalar_problem({1, 2, 3}, {1, 2, 4}, {3, 5, 7}, {0.5f, 0.25f, 1}, 10);
  problem.drawn_case().recurrence = Recurrence::kGla;
  problem["u"].clear();
  const auto result = wkv_recurrence(problem.args());
  // S: 3, then 0.25 * 3 + 10 = 10.75, then 10.75 + 28
  ASSERT_EQ(result.o.size(), 3u);
  EXPECT_NEAR(result.o[0], 1 * 3, 1e-6);
  EXPECT_NEAR(result.o[1], 2 * 10.75, 1e-6);
  EXPECT_NEAR(result.o[2], 3 * 38.75, 1e-6);
  EXPECT_NEAR(result.final_state[0], 38.75, 1e-6);
}

TEST(PackedSequences, EqualRunsOfTheirOwn) {
  const std::int64_t lengths[] = {4, 0, 7};
  for (bool reverse : {false, true}) {
    WkvCase c{.H = 2, .K = 3, .V = 5, .initial_state = true, .final_state = true};
    c.reverse = reverse;
    const WkvProblem together = make_problem(packed(c, {4, 0, 7}));
    WkvResult joined;
    std::int64_t first = 0;
    for (std::int64_t n = 0; n < 3; ++n) {
      c.T = lengths[n];
      WkvProblem alone = make_problem(c);
      const auto copy = [&](const char* array, std::int64_t at) {
        std::copy_n(together[array].begin() + at, alone[array].size(), alone[array].begin());
      };
      for (const char* array : {"q", "k", "log_w"})
        copy(array, first * c.H * c.K);
      copy("v", first * c.H * c.V);
      copy("u", 0);
      copy("initial_state", n * c.H * c.K * c.V);
      const WkvResult result = wkv_closed_sum(alone.args());
      joined.o.insert(joined.o.end(), result.o.begin(), result.o.end());
      joined.final_state.insert(joined.final_state.end(), result.final_state.begin(),
                                result.final_state.end());
      first += c.T;
    }
    const WkvResult result = wkv_recurrence(together.args());
    expect_close(result.o, joined.o);
    expect_close(result.final_state, joined.final_state);
  }
}

double loss(const WkvGradProblem& problem) {
  const WkvResult result = wkv_closed_sum(problem.args().forward);
  const std::vector<float>&d_o = problem["d_o"], &d_final_state = problem["d_final_state"];
  double sum = 0;
  for (std::size_t i = 0; i < result.o.size(); ++i)
    sum += result.o[i] * d_o[i];
  for (std::size_t i = 0; i < d_final_state.size(); ++i)
    sum += result.final_state[i] * d_final_state[i];
  return sum;
}

// The loss is affine in each element of q, k, v, u and the initial state, so a step from 0 to 1
// gives its exact slope. It is also affine in each decay factor, so a step from 0, where log_w is
// -inf, to the factor itself gives the gradient of the logarithm.
std::vector<double> slopes(WkvGradProblem problem, const std::string& array) {
  const bool decay = array == "log_w";
  std::vector<double> result;
  for (float& element : problem[array]) {
    const float before = element;
    element = decay ? before : 1.0f;
    double slope = loss(problem);
    element = decay ? -std::numeric_limits<float>::infinity() : 0.0f;
    slope -= loss(problem);
    element = before;
    result.push_back(slope);
  }
  return result;
}

// A decay per head equals a constant decay per token, and its gradient is the sum over the tokens.
std::vector<double> decay_slopes(WkvGradProblem problem) {
  WkvCase& c = problem.drawn_case();
  const std::vector<float> log_w = problem["log_w"];
  c.decay_per_head = false;
  problem["log_w"].resize(c.B * c.T * c.H * c.K);
  for (std::size_t i = 0; i < problem["log_w"].size(); ++i)
    problem["log_w"][i] = log_w[i % log_w.size()];
  const std::vector<double> each = slopes(problem, "log_w");
  std::vector<double> sums(log_w.size());
  for (std::size_t i = 0; i < each.size(); ++i)
    sums[i % sums.size()] += each[i];
  return sums;
}

class Gradients : public ::testing::TestWithParam<WkvCase> {};

TEST_P(Gradients, AreTheSlopesOfTheClosedSum) {
  const WkvGradProblem problem = make_grad_problem(GetParam());
  const auto gradients = wkv_gradients(problem.args());
  expect_close(gradients.dq, slopes(problem, "q"));
  expect_close(gradients.dk, slopes(problem, "k"));
  expect_close(gradients.dv, slopes(problem, "v"));
  expect_close(gradients.d_log_w, decay_slopes(problem));
  expect_close(gradients.du, slopes(problem, "u"));
  expect_close(gradients.d_initial_state, slopes(problem, "initial_state"));
}

std::vector<WkvCase> gradient_cases() {
  std::vector<WkvCase> cases;
  for (Recurrence recurrence : {Recurrence::kWkv, Recurrence::kGla}) {
    for (Decay decay : {Decay::kMild, Decay::kTotal, Decay::kStrongToken}) {
      for (bool reverse : {false, true}) {
        for (bool states : {false, true}) {
          WkvCase c{.recurrence = recurrence, .B = 2, .T = 4, .H = 2, .K = 3, .V = 2};
          c.decay = decay;
          c.decay_per_head = reverse == states;
          c.initial_state = c.final_state = states;
          c.reverse = reverse;
          c.scale = 0.5f;
          cases.push_back(c);
          if (decay == Decay::kMild) cases.push_back(packed(c, {3, 0, 1, 4}));
        }
      }
    }
    // More steps than the distance between kept states.
    cases.push_back({.recurrence = recurrence, .B = 1, .T = 67, .H = 1, .K = 1, .V = 1});
    WkvCase no_steps{.recurrence = recurrence, .B = 1, .T = 0, .H = 1, .K = 2, .V = 2};
    no_steps.initial_state = no_steps.final_state = true;
    cases.push_back(no_steps);
  }
  return cases;
}

INSTANTIATE_TEST_SUITE_P(All, Gradients, ::testing::ValuesIn(gradient_cases()),
                         [](const auto& info) { return name_of(info.param); });

}  // namespace
}  // namespace ladder
