// Wrong answers of linear attention that must be refused, with the right diagnosis.
#include <gtest/gtest.h>

#include "common/operators/linear_attention/operator.hpp"
#include "common/testing/self_test.hpp"

namespace ladder::testing {
namespace {

TEST(Diagnosis, LinearAttentionMisconceptions) {
  LinearAttentionCase c{.B = 2, .T_q = 20, .T_k = 20, .H = 3, .K = 8, .V = 8};
  c.key_lengths = true;
  const LinearAttentionProblem problem = make_problem(c);
  EXPECT_EQ(verdict(problem, right_answer(problem)), "right");
  const auto expect = [&](const std::string& words, void (*change)(LinearAttentionProblem&)) {
    LinearAttentionProblem changed = problem;
    change(changed);
    expect_words(words, verdict(problem, right_answer(changed)));
  };
  expect("without the causal mask", [](auto& p) { p.drawn_case().causal = false; });
  expect("normaliser forgotten", [](auto& p) { p.drawn_case().normalize = false; });
  expect("key lengths ignored", [](auto& p) {
    p.template array<std::int64_t>("key_lengths").clear();
    p.drawn_case().key_lengths = false;
  });
}

TEST(Diagnosis, StripsOfKeyRows) {
  LinearAttentionCase c{.B = 2, .T_q = 20, .T_k = 20, .H = 3, .K = 22, .V = 8};
  c.feature_map = FeatureMap::kIdentity;
  c.normalize = false;
  const LinearAttentionProblem problem = make_problem(c);
  const auto part = [&](std::int64_t first, std::int64_t end) {
    LinearAttentionProblem rows = problem;
    for (std::int64_t i = 0; i < std::ssize(rows["q"]); ++i) {
      if (i % c.K < first || i % c.K >= end) rows["q"][i] = 0.0f;
    }
    return right_answer(rows);
  };
  expect_words("without the last 6 key rows", verdict(problem, part(0, 16)));

  // Whichever strip is stored last wins, here another one for each element.
  const std::vector<float> strips[] = {part(0, 8), part(8, 16), part(16, 22)};
  std::vector<float> o = strips[2];
  for (std::size_t i = 0; i < o.size(); ++i)
    o[i] = strips[i % 3][i];
  expect_words("the parts overwrite each other", verdict(problem, o));
  o[7] += 1.0f;
  EXPECT_EQ(verdict(problem, o).find("the parts overwrite each other"), std::string::npos);
}

TEST(LinearAttentionInBf16, IsRightAsAPlainLoopComputesIt) {
  LinearAttentionCase c{.B = 2, .T_q = 20, .T_k = 20, .H = 3, .K = 16, .V = 8};
  c.precision = Precision::kBf16;
  const LinearAttentionProblem problem = make_problem(c);
  constexpr Arithmetic kOperands = Arithmetic::kBf16Operands;
  EXPECT_TRUE(is_right(problem, LinearAttention::plain(problem, kOperands), kOperands));
  LinearAttentionProblem changed = problem;
  changed.drawn_case().normalize = false;
  expect_words("normaliser forgotten",
               verdict(problem, LinearAttention::plain(changed, Arithmetic::kFp32), kOperands));
}

}  // namespace
}  // namespace ladder::testing
