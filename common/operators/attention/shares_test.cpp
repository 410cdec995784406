// A wrong result of softmax attention that no known mistake gives is taken apart into what each query takes from each key.
#include "common/diagnosis/shares.hpp"

#include <gtest/gtest.h>

#include "common/operators/attention/operator.hpp"
#include "common/operators/attention/truth.hpp"
#include "common/testing/self_test.hpp"

namespace ladder::testing {
namespace {

// Where each query divides by what it has added up, one key more or less changes its whole row.
TEST(Shares, OfARowThatIsDividedAreComparedInProportion) {
  const AttentionCase c = plain_attention_case({});
  const AttentionProblem problem = make_problem(c);
  const auto truth = attention_closed_sum(problem.args());
  const ShareSolver solver({problem["v"].data(), c.B, c.T_k, c.H_kv, c.D}, c.T_q, c.H_q, 0);
  // of[s] of query t is changed, then o is divided by what `divisor(sum, t)` makes of their sum.
  const auto expect = [&](const auto& change, const auto& divisor, const std::string& words) {
    Shares shares = solver.shares(truth.o).value();
    AttentionOutputs outputs{std::vector<float>(truth.o.size(), 0.0f),
                             {truth.lse.begin(), truth.lse.end()}};
    for (std::int64_t row = 0; row < c.B * c.H_q * c.T_q; ++row) {
      const std::int64_t head = row / c.T_q, t = row % c.T_q, b = head / c.H_q, h = head % c.H_q;
      double *of = &shares[row * c.T_k], sum = 0;
      for (std::int64_t s = 0; s < c.T_k; ++s)
        sum += of[s] = change(s, of[s]);
      for (std::int64_t s = 0; s < c.T_k; ++s) {
        for (std::int64_t i = 0; i < c.D; ++i) {
          const std::int64_t of_v = ((b * c.T_k + s) * c.H_kv + h / (c.H_q / c.H_kv)) * c.D + i;
          outputs.o[((b * c.T_q + t) * c.H_q + h) * c.D + i] +=
              static_cast<float>(of[s] / divisor(sum, t) * problem["v"][of_v]);
        }
      }
    }
    const std::string said = said_of<Attention>(problem, outputs, Search::kOne);
    EXPECT_NE(said.find(words), std::string::npos) << said;
  };
  const auto sum_of_all = [](double sum, std::int64_t) { return sum; };
  expect([](auto s, double x) { return s == 3 ? 0 : x; }, sum_of_all,
         "\nA query takes nothing from key 3; all else is in the right proportion.\n");
  expect([](auto s, double x) { return s == 3 ? x / 4 : x; }, sum_of_all,
         "\nBeside all else, what a query takes from key 3 is 0.25 times what it should be. Either "
         "that is wrong, or all else is 4 times what it should be: o is divided by the sum of "
         "both.\n");
  expect([](auto, double x) { return x; },
         [](double, std::int64_t t) { return 1.0 + static_cast<double>(t); },
         "\nAll that a query takes is in the right proportion, but o of query 1 is 0.5 times what "
         "it should be: what o is divided or multiplied by is wrong.\n");
}

}  // namespace
}  // namespace ladder::testing
