// A sample of a right result is right, and a sample that contains an error is wrong.
#include <gtest/gtest.h>

#include <limits>

#include "common/operators/attention/operator.hpp"

namespace ladder {
namespace {

AttentionCase long_case(bool causal) {
  return {.B = 3, .T_q = 400, .T_k = 450, .H_q = 4, .H_kv = 2, .D = 3, .D_v = 4, .causal = causal};
}

TEST(Sample, AcceptsWhatIsRightAndRefusesWhatIsWrongInIt) {
  for (const bool causal : {false, true}) {
    const AttentionProblem problem = make_problem(long_case(causal));
    const auto right =
        typed<AttentionOutputs>(problem, problem.op().plain(problem, Arithmetic::kFp32));
    const auto verdict = [&](const AttentionOutputs& outputs) {
      return problem.op().judge_for_report(problem, outputs_at(problem, outputs), Arithmetic::kFp32,
                                           0);
    };
    EXPECT_TRUE(verdict(right).right) << verdict(right).message;
    const std::size_t last = right.o.size() - 1;
    for (const std::size_t element : {std::size_t{0}, last / 2, last}) {
      AttentionOutputs wrong = right;
      wrong.o[element] += 1;
      EXPECT_FALSE(verdict(wrong).right) << element;
    }
    AttentionOutputs wrong = right;
    wrong.lse.back() += 1;
    EXPECT_FALSE(verdict(wrong).right);
    // Outside all windows, but every element is checked for being written.
    wrong = right;
    wrong.o[4 * 4 * 161] = std::numeric_limits<float>::quiet_NaN();
    EXPECT_FALSE(verdict(wrong).right);
  }
}

TEST(Sample, OfGradientsIsOfWholeHeads) {
  AttentionCase c = long_case(true);
  c.T_q = c.T_k = 60;
  const AttentionGradProblem problem(c);
  const auto right =
      typed<AttentionGradients>(problem, problem.op().plain(problem, Arithmetic::kFp32));
  const auto verdict = [&](const AttentionGradients& gradients) {
    return problem.op().judge_for_report(problem, outputs_at(problem, gradients), Arithmetic::kFp32,
                                         0);
  };
  EXPECT_TRUE(verdict(right).right) << verdict(right).message;
  for (const auto member :
       {&AttentionGradients::dq, &AttentionGradients::dk, &AttentionGradients::dv}) {
    AttentionGradients wrong = right;
    (wrong.*member)[5] += 10;
    EXPECT_FALSE(verdict(wrong).right);
    wrong = right;
    (wrong.*member).back() = std::numeric_limits<float>::infinity();
    EXPECT_FALSE(verdict(wrong).right);
  }
}

}  // namespace
}  // namespace ladder
