// Wrong answers of linear attention that must be refused, with the right diagnosis.
#include <gtest/gtest.h>

#include <functional>

#include "common/operators/linear_attention/operator.hpp"
#include "common/operators/linear_attention/truth.hpp"
#include "common/testing/tests.hpp"

namespace ladder::testing {
namespace {

TEST(Diagnosis, LinearAttentionMisconceptions) {
  const LinearAttentionCase c{
      .B = 2, .T_q = 20, .T_k = 20, .H = 3, .K = 8, .V = 8, .key_lengths = true};
  const LinearAttentionProblem problem = make_problem(c);
  const auto message = [&](const std::function<void(LinearAttentionProblem&)>& change) {
    LinearAttentionProblem changed = problem;
    change(changed);
    const auto o = linear_attention_recurrence(changed);
    const auto result = is_right(problem, std::vector<float>(o.begin(), o.end()));
    return result ? std::string("right") : std::string(result.message());
  };
  const auto expect = [&](const std::string& words, const std::string& text) {
    EXPECT_NE(text.find(words), std::string::npos) << text;
  };
  EXPECT_EQ(message([](LinearAttentionProblem&) {}), "right");
  expect("without the causal mask", message([](auto& p) { p.drawn_case().causal = false; }));
  expect("normaliser forgotten", message([](auto& p) { p.drawn_case().normalize = false; }));
  expect("key lengths ignored", message([](auto& p) {
           p.template array<std::int64_t>("key_lengths").clear();
           p.drawn_case().key_lengths = false;
         }));
}

TEST(Diagnosis, StripsOfKeyRows) {
  const LinearAttentionCase c{.B = 2,
                              .T_q = 20,
                              .T_k = 20,
                              .H = 3,
                              .K = 22,
                              .V = 8,
                              .feature_map = FeatureMap::kIdentity,
                              .normalize = false};
  const LinearAttentionProblem problem = make_problem(c);
  const auto part = [&](std::int64_t first, std::int64_t end) {
    LinearAttentionProblem rows = problem;
    for (std::int64_t i = 0; i < std::ssize(rows["q"]); ++i) {
      if (i % c.K < first || i % c.K >= end) rows["q"][i] = 0.0f;
    }
    const auto o = linear_attention_recurrence(rows);
    return std::vector<float>(o.begin(), o.end());
  };
  const auto message = [&](const std::vector<float>& o) {
    return std::string(is_right(problem, o).message());
  };
  EXPECT_NE(message(part(0, 16)).find("without the last 6 key rows"), std::string::npos)
      << message(part(0, 16));

  // Whichever strip is stored last wins, here another one for each element.
  const std::vector<float> strips[] = {part(0, 8), part(8, 16), part(16, 22)};
  std::vector<float> o = strips[2];
  for (std::size_t i = 0; i < o.size(); ++i)
    o[i] = strips[i % 3][i];
  EXPECT_NE(message(o).find("the parts overwrite each other"), std::string::npos) << message(o);
  o[7] += 1.0f;
  EXPECT_EQ(message(o).find("the parts overwrite each other"), std::string::npos) << message(o);
}

TEST(LinearAttentionInBf16, IsRightAsAPlainLoopComputesIt) {
  const LinearAttentionCase c{
      .B = 2, .T_q = 20, .T_k = 20, .H = 3, .K = 16, .V = 8, .precision = Precision::kBf16};
  const LinearAttentionProblem problem = make_problem(c);
  const auto of_operands = LinearAttention::plain(problem, Arithmetic::kBf16Operands);
  EXPECT_TRUE(is_right(problem, of_operands, Arithmetic::kBf16Operands));
  LinearAttentionProblem changed = problem;
  changed.drawn_case().normalize = false;
  const std::string message = is_right(problem, LinearAttention::plain(changed, Arithmetic::kFp32),
                                       Arithmetic::kBf16Operands)
                                  .message();
  EXPECT_NE(message.find("normaliser forgotten"), std::string::npos) << message;
}

}  // namespace
}  // namespace ladder::testing
