// Compares attention's truth with a tiled loop in double, its gradients with finite differences.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "common/operators/attention/mistakes.hpp"
#include "common/operators/attention/truth.hpp"
#include "common/operators/attention/visible.hpp"
#include "common/testing/self_test.hpp"

namespace ladder {
namespace {

using testing::expect_close;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

std::vector<AttentionCase> gentle_cases() {
  std::vector<AttentionCase> result;
  for (const bool causal : {false, true}) {
    for (const auto& [T_q, T_k] : {std::pair{7, 7}, {9, 4}, {4, 9}, {1, 5}, {3, 0}, {0, 3}}) {
      for (const bool lengths : {false, true}) {
        result.push_back({.B = 2, .T_q = T_q, .T_k = T_k, .H_q = 4, .H_kv = 2, .D = 3});
        result.back().causal = causal;
        result.back().key_lengths = lengths;
      }
    }
    result.push_back(packed({.H_q = 3, .H_kv = 1, .D = 4, .causal = causal},
                            {{0, 3}, {5, 5}, {4, 0}, {0, 0}, {2, 6}, {6, 2}}));
  }
  for (const std::int64_t window : {1, 3, 8}) {
    for (const auto& [T_q, T_k] : {std::pair{7, 7}, {9, 4}, {4, 9}}) {
      result.push_back({.B = 1, .T_q = T_q, .T_k = T_k, .H_q = 2, .H_kv = 1, .D = 3});
      result.back().causal = true;
      result.back().window = window;
    }
  }
  result.push_back({.T_q = 5, .T_k = 7, .H_q = 2, .H_kv = 2, .D = 3, .scale = -0.5f});
  for (const bool causal : {false, true}) {
    result.push_back({.T_q = 5, .T_k = 7, .H_q = 2, .H_kv = 1, .D = 3, .causal = causal});
    result.back().softcap = 1;
  }
  result.push_back({.T_q = 6, .T_k = 9, .H_q = 2, .H_kv = 1, .D = 3, .causal = true, .window = 4});
  result.back().scale = -0.5f;
  result.back().softcap = 1;
  for (const auto& [D, D_v] : {std::pair{3, 2}, {2, 5}}) {
    result.push_back({.B = 2, .T_q = 5, .T_k = 7, .H_q = 4, .H_kv = 2, .D = D, .D_v = D_v});
    result.back().causal = true;
    result.back().softcap = 1;
    result.push_back(packed({.H_q = 3, .H_kv = 1, .D = D, .D_v = D_v}, {{5, 5}, {0, 2}, {2, 6}}));
  }
  result.push_back({.B = 0, .T_q = 3, .T_k = 3, .H_q = 1, .H_kv = 1, .D = 2});
  return result;
}

// Too steep for finite differences.
std::vector<AttentionCase> steep_cases() {
  return {{.T_q = 6, .T_k = 6, .H_q = 2, .H_kv = 2, .D = 3, .magnitude = 100.0f},
          {.T_q = 6, .T_k = 6, .H_q = 2, .H_kv = 2, .D = 3, .causal = true, .magnitude = 100.0f}};
}

std::string name(const ::testing::TestParamInfo<AttentionCase>& info) {
  return name_of(info.param);
}

class AttentionForms : public ::testing::TestWithParam<AttentionCase> {};

TEST_P(AttentionForms, WalkEqualsClosedSumInTilesOfAnySize) {
  const AttentionProblem problem = make_problem(GetParam());
  const AttentionResult closed = attention_closed_sum(problem.args());
  for (const std::int64_t tile : {1, 2, 4, 16}) {
    for (const bool last_first : {false, true}) {
      const AttentionResult walked =
          attention_loop(problem.args(), {.tile = tile, .last_first = last_first});
      expect_close(walked.o, closed.o, 1e-12);
      expect_close(walked.lse, closed.lse, 1e-12);
      expect_close(walked.largest, closed.largest, 1e-14);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Gentle, AttentionForms, ::testing::ValuesIn(gentle_cases()), name);
INSTANTIATE_TEST_SUITE_P(Steep, AttentionForms, ::testing::ValuesIn(steep_cases()), name);

double loss(const AttentionGradProblem& problem) {
  const AttentionGradArgs a = problem.args();
  const AttentionResult result = attention_closed_sum(a.forward);
  double sum = 0;
  for (std::size_t i = 0; i < result.o.size(); ++i)
    sum += result.o[i] * a.d_o[i];
  return sum;
}

// Fourth-order finite differences.
std::vector<double> slopes(AttentionGradProblem problem, const char* input) {
  const float h = 1.0f / 256;
  std::vector<double> result;
  for (float& element : problem[input]) {
    const float before = element;
    const auto difference = [&](float step) {
      element = before + step;
      const double above = loss(problem), plus = element;
      element = before - step;
      return (above - loss(problem)) / (plus - element);
    };
    result.push_back((4 * difference(h) - difference(2 * h)) / 3);
    element = before;
  }
  return result;
}

class AttentionSlopes : public ::testing::TestWithParam<AttentionCase> {};

TEST_P(AttentionSlopes, AreTheGradients) {
  const AttentionGradProblem problem = make_grad_problem(make_problem(GetParam()));
  const auto gradients = attention_gradients(problem.args());
  expect_close(gradients.dq, slopes(problem, "q"), 1e-5);
  expect_close(gradients.dk, slopes(problem, "k"), 1e-5);
  expect_close(gradients.dv, slopes(problem, "v"), 1e-5);
}

INSTANTIATE_TEST_SUITE_P(Gentle, AttentionSlopes, ::testing::ValuesIn(gentle_cases()), name);

// One head, D = 1.
AttentionResult truth_of(const std::vector<float>& q, const std::vector<float>& k,
                         const std::vector<float>& v, bool causal) {
  AttentionCase c{.T_q = std::ssize(q), .T_k = std::ssize(k), .D = 1, .causal = causal};
  AttentionProblem problem = make_problem(c);
  problem["q"] = q;
  problem["k"] = k;
  problem["v"] = v;
  return attention_closed_sum(problem.args());
}

TEST(Attention, FollowsTheFormulaByHand) {
  const auto full = truth_of({1, 0}, {0, std::log(3.0f)}, {4, 8}, false);
  EXPECT_NEAR(full.o[0], (1 * 4 + 3 * 8) / 4.0, 1e-6);
  EXPECT_NEAR(full.lse[0], std::log(4.0), 1e-6);
  EXPECT_NEAR(full.o[1], 6, 1e-6);
  EXPECT_NEAR(full.lse[1], std::log(2.0), 1e-6);
}

TEST(Attention, AlignsTheLastQueryWithTheLastKey) {
  const auto longer = truth_of({1, 1, 1}, {0, 0}, {4, 8}, true);
  EXPECT_EQ(longer.o, (std::vector<double>{0, 4, 6}));
  EXPECT_EQ(longer.lse[0], -kInfinity);
  const auto shorter = truth_of({1}, {0, 0, 0}, {3, 6, 9}, true);
  EXPECT_NEAR(shorter.o[0], 6, 1e-12);
}

// With equal weights o is the mean of the visible values.
TEST(Attention, AWindowHoldsTheQuerysOwnKeyAndThoseBeforeIt) {
  AttentionProblem problem =
      make_problem({.T_q = 3, .T_k = 4, .D = 1, .causal = true, .window = 2});
  problem["q"] = {0, 0, 0};
  problem["v"] = {1, 2, 4, 8};
  EXPECT_EQ(attention_closed_sum(problem.args()).o, (std::vector<double>{1.5, 3, 6}));
  const AttentionArgs a = problem.args();
  EXPECT_EQ(attention_fma_count(a), 2 * 3 * 2 * (1 - 2 / 8.0));
}

TEST(Attention, ValuesMayHaveTheirOwnNumberOfChannels) {
  AttentionProblem problem = make_problem({.T_q = 1, .T_k = 2, .D = 1, .D_v = 3});
  problem["q"] = {1};
  problem["k"] = {0, std::log(3.0f)};
  problem["v"] = {4, 0, 8, 8, 4, 0};
  const AttentionArgs a = problem.args();
  const AttentionResult result = attention_closed_sum(a);
  const double wanted[] = {7, 3, 2};
  ASSERT_EQ(result.o.size(), std::size(wanted));
  for (std::size_t i = 0; i < std::size(wanted); ++i)
    EXPECT_NEAR(result.o[i], wanted[i], 1e-6);
  EXPECT_EQ(attention_fma_count(a), 2 * 1 + 2 * 3);
  EXPECT_EQ(attention_fma_count(AttentionGradArgs{{a}}), 3 * 2 * 1 + 2 * 2 * 3);
}

TEST(Attention, ASoftcapBoundsTheScores) {
  AttentionProblem problem = make_problem({.T_q = 1, .T_k = 2, .D = 1, .softcap = 2});
  problem["q"] = {1};
  problem["k"] = {1000, -1000};
  problem["v"] = {0, 1};
  EXPECT_NEAR(attention_closed_sum(problem.args()).o[0], 1 / (1 + std::exp(4.0)), 1e-12);
}

TEST(Attention, GroupsUseTheirOwnKeyHead) {
  AttentionProblem problem =
      make_problem(AttentionCase{.T_q = 1, .T_k = 1, .H_q = 6, .H_kv = 2, .D = 1});
  problem["v"] = {3, 5};
  EXPECT_EQ(attention_closed_sum(problem.args()).o, (std::vector<double>{3, 3, 3, 5, 5, 5}));
}

TEST(Attention, PackedSequencesEqualRunsOfTheirOwn) {
  const std::vector<AttentionCase::Lengths> lengths = {{4, 4}, {0, 2}, {3, 0}, {2, 5}};
  const AttentionCase c{.H_q = 2, .H_kv = 1, .D = 3, .causal = true};
  const AttentionProblem together = make_problem(packed(c, lengths));
  const AttentionResult result = attention_closed_sum(together.args());
  for (std::size_t n = 0; n < lengths.size(); ++n) {
    const AttentionSequence s = sequence_of(together.args(), n);
    AttentionCase alone_case = c;
    alone_case.T_q = s.queries;
    alone_case.T_k = s.keys;
    AttentionProblem alone = make_problem(alone_case);
    std::copy_n(together["q"].begin() + s.first_query * 6, s.queries * 6, alone["q"].begin());
    for (const char* name : {"k", "v"})
      std::copy_n(together[name].begin() + s.first_key * 3, s.keys * 3, alone[name].begin());
    const AttentionResult expected = attention_closed_sum(alone.args());
    const auto at = result.o.begin() + s.first_query * 6;
    EXPECT_EQ(std::vector<double>(at, at + s.queries * 6), expected.o);
    for (std::int64_t h = 0; h < 2; ++h) {
      for (std::int64_t l = 0; l < s.queries; ++l)
        EXPECT_EQ(result.lse[lse_index(together.args(), s.first_query + l, h)],
                  expected.lse[h * s.queries + l]);
    }
  }
}

}  // namespace
}  // namespace ladder
