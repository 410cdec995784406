// The judge of softmax attention is judged: its two forms against each other, its gradients against differences of them.
#include "common/operators/attention/reference.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "common/operators/attention/walk.hpp"

namespace ladder::reference {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

void expect_close(const std::vector<double>& a, const std::vector<double>& b, double tolerance) {
  ASSERT_EQ(a.size(), b.size());
  double difference = 0, size = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (a[i] == b[i]) continue;  // both -inf, too
    ASSERT_TRUE(std::isfinite(a[i]) && std::isfinite(b[i])) << "element " << i;
    difference += (a[i] - b[i]) * (a[i] - b[i]);
    size += b[i] * b[i];
  }
  EXPECT_LE(std::sqrt(difference), tolerance * std::sqrt(size));
}

std::vector<AttentionCase> gentle_cases() {
  std::vector<AttentionCase> result;
  for (const bool causal : {false, true}) {
    for (const auto& [T_q, T_k] : {std::pair{7, 7}, {9, 4}, {4, 9}, {1, 5}, {3, 0}, {0, 3}}) {
      for (const bool lengths : {false, true}) {
        result.push_back({.B = 2,
                          .T_q = T_q,
                          .T_k = T_k,
                          .H_q = 4,
                          .H_kv = 2,
                          .D = 3,
                          .causal = causal,
                          .key_lengths = lengths});
      }
    }
    result.push_back(packed({.H_q = 3, .H_kv = 1, .D = 4, .causal = causal},
                            {{0, 3}, {5, 5}, {4, 0}, {0, 0}, {2, 6}, {6, 2}}));
  }
  result.push_back({.B = 0, .T_q = 3, .T_k = 3, .H_q = 1, .H_kv = 1, .D = 2});
  return result;
}

// Too steep for differences.
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
  const AttentionResult closed = attention_closed_sum(problem);
  for (const std::int64_t tile : {1, 2, 4, 16}) {
    for (const bool last_first : {false, true}) {
      const AttentionResult walked = walk(problem, {.tile = tile, .last_first = last_first});
      expect_close(walked.o, closed.o, 1e-12);
      expect_close(walked.lse, closed.lse, 1e-12);
      expect_close(walked.largest, closed.largest, 1e-14);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Gentle, AttentionForms, ::testing::ValuesIn(gentle_cases()), name);
INSTANTIATE_TEST_SUITE_P(Steep, AttentionForms, ::testing::ValuesIn(steep_cases()), name);

double loss(const AttentionGradProblem& problem) {
  const AttentionResult result = attention_closed_sum(problem.forward);
  double sum = 0;
  for (std::size_t i = 0; i < result.o.size(); ++i)
    sum += result.o[i] * problem.d_o.data[i];
  return sum;
}

// By differences of fourth order.
std::vector<double> slopes(AttentionGradProblem problem, Tensor<float> AttentionProblem::*tensor) {
  const float h = 1.0f / 256;
  std::vector<double> result;
  for (float& element : (problem.forward.*tensor).data) {
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
  const AttentionGradProblem problem = make_attention_grad_problem(make_problem(GetParam()));
  const auto gradients = attention_gradients(problem);
  expect_close(gradients.dq, slopes(problem, &AttentionProblem::q), 1e-5);
  expect_close(gradients.dk, slopes(problem, &AttentionProblem::k), 1e-5);
  expect_close(gradients.dv, slopes(problem, &AttentionProblem::v), 1e-5);
}

INSTANTIATE_TEST_SUITE_P(Gentle, AttentionSlopes, ::testing::ValuesIn(gentle_cases()), name);

// One head, D = 1.
AttentionProblem scalar_problem(std::vector<float> q, std::vector<float> k, std::vector<float> v,
                                bool causal) {
  AttentionProblem problem = make_problem(AttentionCase{.T_q = static_cast<std::int64_t>(q.size()),
                                                        .T_k = static_cast<std::int64_t>(k.size()),
                                                        .H_q = 1,
                                                        .H_kv = 1,
                                                        .D = 1,
                                                        .causal = causal});
  problem.q.data = std::move(q);
  problem.k.data = std::move(k);
  problem.v.data = std::move(v);
  return problem;
}

TEST(Attention, FollowsTheFormulaByHand) {
  const auto full =
      attention_closed_sum(scalar_problem({1, 0}, {0, std::log(3.0f)}, {4, 8}, false));
  EXPECT_NEAR(full.o[0], (1 * 4 + 3 * 8) / 4.0, 1e-6);
  EXPECT_NEAR(full.lse[0], std::log(4.0), 1e-6);
  EXPECT_NEAR(full.o[1], 6, 1e-6);
  EXPECT_NEAR(full.lse[1], std::log(2.0), 1e-6);
}

TEST(Attention, AlignsTheLastQueryWithTheLastKey) {
  const auto longer = attention_closed_sum(scalar_problem({1, 1, 1}, {0, 0}, {4, 8}, true));
  EXPECT_EQ(longer.o, (std::vector<double>{0, 4, 6}));
  EXPECT_EQ(longer.lse[0], -kInfinity);
  const auto shorter = attention_closed_sum(scalar_problem({1}, {0, 0, 0}, {3, 6, 9}, true));
  EXPECT_NEAR(shorter.o[0], 6, 1e-12);
}

TEST(Attention, GroupsUseTheirOwnKeyHead) {
  AttentionProblem problem =
      make_problem(AttentionCase{.T_q = 1, .T_k = 1, .H_q = 6, .H_kv = 2, .D = 1});
  problem.v.data = {3, 5};
  EXPECT_EQ(attention_closed_sum(problem).o, (std::vector<double>{3, 3, 3, 5, 5, 5}));
}

TEST(Attention, PackedSequencesEqualRunsOfTheirOwn) {
  const std::vector<AttentionCase::Lengths> lengths = {{4, 4}, {0, 2}, {3, 0}, {2, 5}};
  const AttentionCase c{.H_q = 2, .H_kv = 1, .D = 3, .causal = true};
  const AttentionProblem together = make_problem(packed(c, lengths));
  const AttentionResult result = attention_closed_sum(together);
  for (std::size_t n = 0; n < lengths.size(); ++n) {
    const AttentionProblem::Sequence s = together.sequence(n);
    AttentionCase alone_case = c;
    alone_case.T_q = s.queries;
    alone_case.T_k = s.keys;
    AttentionProblem alone = make_problem(alone_case);
    std::copy_n(together.q.data.begin() + s.first_query * 6, s.queries * 6, alone.q.data.begin());
    std::copy_n(together.k.data.begin() + s.first_key * 3, s.keys * 3, alone.k.data.begin());
    std::copy_n(together.v.data.begin() + s.first_key * 3, s.keys * 3, alone.v.data.begin());
    const AttentionResult expected = attention_closed_sum(alone);
    const auto at = result.o.begin() + s.first_query * 6;
    EXPECT_EQ(std::vector<double>(at, at + s.queries * 6), expected.o);
    for (std::int64_t h = 0; h < 2; ++h) {
      for (std::int64_t l = 0; l < s.queries; ++l)
        EXPECT_EQ(result.lse[together.lse_index(s.first_query + l, h)],
                  expected.lse[h * s.queries + l]);
    }
  }
}

}  // namespace
}  // namespace ladder::reference
