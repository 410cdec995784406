// The judge is judged: the recurrence against the closed sum, and both against values worked out by hand.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "common/core/error_metrics.hpp"
#include "common/operators/linear_attention/reference.hpp"
#include "common/operators/wkv/reference.hpp"

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
  for (Recurrence recurrence : {Recurrence::kWkv, Recurrence::kGla}) {
    for (Decay decay :
         {Decay::kNone, Decay::kMild, Decay::kStrong, Decay::kTotal, Decay::kStrongToken}) {
      for (bool per_head : {false, true}) {
        for (bool reverse : {false, true}) {
          const WkvCase c{.recurrence = recurrence,
                          .B = 2,
                          .T = 19,
                          .H = 3,
                          .K = 5,
                          .V = 7,
                          .decay = decay,
                          .decay_per_head = per_head,
                          .initial_state = true,
                          .final_state = true,
                          .reverse = reverse,
                          .scale = 0.5f};
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

TEST(Gla, FollowsTheFormulaByHand) {
  WkvProblem problem = scalar_problem({1, 2, 3}, {1, 2, 4}, {3, 5, 7}, {0.5f, 0.25f, 1}, 10);
  problem.wkv_case.recurrence = Recurrence::kGla;
  problem.u = {};
  const auto result = wkv_recurrence(problem);
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
      const auto copy = [&](Tensor<float>& to, const Tensor<float>& from, std::int64_t at) {
        std::copy_n(from.data.begin() + at * to.size(), to.size(), to.data.begin());
      };
      const auto copy_steps = [&](Tensor<float>& to, const Tensor<float>& from) {
        const std::int64_t row = to.shape[2] * to.shape[3];
        std::copy_n(from.data.begin() + first * row, c.T * row, to.data.begin());
      };
      copy_steps(alone.q, together.q);
      copy_steps(alone.k, together.k);
      copy_steps(alone.v, together.v);
      copy_steps(alone.log_w, together.log_w);
      copy(alone.u, together.u, 0);
      copy(alone.initial_state, together.initial_state, n);
      const WkvResult result = wkv_closed_sum(alone);
      joined.o.insert(joined.o.end(), result.o.begin(), result.o.end());
      joined.final_state.insert(joined.final_state.end(), result.final_state.begin(),
                                result.final_state.end());
      first += c.T;
    }
    const WkvResult result = wkv_recurrence(together);
    expect_close(result.o, joined.o);
    expect_close(result.final_state, joined.final_state);
  }
}

double loss(const WkvGradProblem& problem) {
  const WkvResult result = wkv_closed_sum(problem.forward);
  double sum = 0;
  for (std::size_t i = 0; i < result.o.size(); ++i)
    sum += result.o[i] * problem.d_o.data[i];
  for (std::size_t i = 0; i < problem.d_final_state.data.size(); ++i)
    sum += result.final_state[i] * problem.d_final_state.data[i];
  return sum;
}

// The loss is affine in every single element of q, k, v, u and the initial state: its slope is what a step from 0 to 1 changes,
// exactly. In every single decay factor it is affine too, from 0 (log_w = -inf) to where it stands: this is the gradient
// of the logarithm.
std::vector<double> slopes(WkvGradProblem problem, Tensor<float> WkvProblem::*tensor) {
  const bool decay = tensor == &WkvProblem::log_w;
  std::vector<double> result;
  for (float& element : (problem.forward.*tensor).data) {
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

// A decay per head is a decay per token that is the same for all of them; its gradient is the sum of theirs.
std::vector<double> decay_slopes(WkvGradProblem problem) {
  WkvCase& c = problem.forward.wkv_case;
  const std::vector<float> log_w = problem.forward.log_w.data;
  c.decay_per_head = false;
  problem.forward.log_w = Tensor<float>({c.B, c.T, c.H, c.K});
  for (std::size_t i = 0; i < problem.forward.log_w.data.size(); ++i)
    problem.forward.log_w.data[i] = log_w[i % log_w.size()];
  const std::vector<double> each = slopes(problem, &WkvProblem::log_w);
  std::vector<double> sums(log_w.size());
  for (std::size_t i = 0; i < each.size(); ++i)
    sums[i % sums.size()] += each[i];
  return sums;
}

class Gradients : public ::testing::TestWithParam<WkvCase> {};

TEST_P(Gradients, AreTheSlopesOfTheClosedSum) {
  const WkvGradProblem problem = make_grad_problem(GetParam());
  const auto gradients = wkv_gradients(problem);
  expect_close(gradients.dq, slopes(problem, &WkvProblem::q));
  expect_close(gradients.dk, slopes(problem, &WkvProblem::k));
  expect_close(gradients.dv, slopes(problem, &WkvProblem::v));
  expect_close(gradients.d_log_w, decay_slopes(problem));
  expect_close(gradients.du, slopes(problem, &WkvProblem::u));
  expect_close(gradients.d_initial_state, slopes(problem, &WkvProblem::initial_state));
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
    // Longer than the distance of kept states.
    cases.push_back({.recurrence = recurrence, .B = 1, .T = 67, .H = 1, .K = 1, .V = 1});
    cases.push_back({.recurrence = recurrence,
                     .B = 1,
                     .T = 0,
                     .H = 1,
                     .K = 2,
                     .V = 2,
                     .initial_state = true,
                     .final_state = true});
  }
  return cases;
}

INSTANTIATE_TEST_SUITE_P(All, Gradients, ::testing::ValuesIn(gradient_cases()),
                         [](const auto& info) { return name_of(info.param); });

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
