#include "common/operators/judge.hpp"

#include <algorithm>
#include <cmath>
#include <string>

#include "common/judge/judging.hpp"
#include "common/operators/linear_attention/reference.hpp"
#include "common/operators/linear_attention/variants.hpp"
#include "common/operators/misconceptions.hpp"
#include "common/operators/parts.hpp"
#include "common/operators/shares.hpp"
#include "common/operators/yardstick.hpp"

namespace ladder::reference {
namespace {

// Blocks that each take a strip of 8 key rows and store their part of o instead of adding it: which one comes last
// may differ from element to element.
bool is_one_strip(const LinearAttentionProblem& problem, const std::vector<float>& o) {
  constexpr std::int64_t kRows = 8;
  const std::int64_t K = problem.attention_case.K;
  if (K <= kRows) return false;
  double square = 0;
  for (float value : o)
    square += static_cast<double>(value) * value;
  const double close = 1e-4 * std::sqrt(square / o.size());
  std::vector<bool> explained(o.size(), false);
  for (std::int64_t first = 0; first < K; first += kRows) {
    const auto part = linear_attention_recurrence(
        with_rows(problem, [&](std::int64_t j) { return j >= first && j < first + kRows; }));
    for (std::size_t i = 0; i < o.size(); ++i)
      explained[i] = explained[i] || std::abs(o[i] - part[i]) <= close;
  }
  return std::find(explained.begin(), explained.end(), false) == explained.end();
}

// Key rows that count for more or less than once.
std::string explain_by_rows(const LinearAttentionProblem& problem, const Part& o) {
  const LinearAttentionCase& c = problem.attention_case;
  if (linear_attention_fma_count(problem.args()) * static_cast<double>(c.K) > kMostTaken) return "";
  PartOfRows part{"the sum", {}};
  for (std::int64_t row = 0; row < c.K; ++row) {
    LinearAttentionSwitches one;
    one.arrives = [row](std::int64_t j) { return j == row; };
    part.terms.push_back(linear_attention_loop(problem, one));
  }
  return explain_rows(*o.result, {part}, 1);
}

// Keys whose share in o is wrong.
std::string explain_by_keys(const LinearAttentionProblem& problem, const Part& o, double rounding) {
  const LinearAttentionCase& c = problem.attention_case;
  const ShareSolver solver({problem.v.pointer(), c.B, c.T_k, c.H, c.V}, c.T_q, c.H, rounding);
  const auto known = known_shares(
      solver, linear_attention_variants(c), LinearAttentionSwitches{},
      [&](const LinearAttentionSwitches& s) { return linear_attention_loop(problem, s); });
  return explain_shares(solver, *o.result, *o.truth, known, "query", "key");
}

// The words for an o that no one mistake gives.
std::string explain_further(const LinearAttentionProblem& problem, const Part& o, double rounding,
                            Search search) {
  std::string words = constant_factor(o, rounding);
  if (words.empty()) words = explain_by_keys(problem, o, rounding);
  if (words.empty() && search == Search::kTwo) {
    words =
        two_variants(o, rounding, linear_attention_variants(problem.attention_case),
                     LinearAttentionSwitches{}, [&](const LinearAttentionSwitches& s, Look look) {
                       return linear_attention_loop(problem, s, look);
                     });
  }
  return words.empty() ? explain_by_rows(problem, o) : words;
}

}  // namespace

Verdict judge(const LinearAttentionProblem& problem, const std::vector<float>& o,
              Arithmetic arithmetic, PlainLoop plain_loop, Search search) {
  const ExpectedLinearAttention expected = reference::expected(problem, arithmetic);
  const Part part = parts(problem, expected, o, arithmetic).front();
  const double rounding = problem.attention_case.precision == Precision::kFp32 ? 0 : kBf16Rounding;
  Verdict verdict = judge_part(part, [&]() -> std::string {
    if (linear_attention_fma_count(problem.args()) > kMostExplained) return kTooLarge;
    const auto equals = [&](const std::vector<double>& other) {
      return equals_answer(o, other, part.layout.row(), rounding);
    };
    if (equals(expected.truth)) return "";
    const std::string known =
        diagnosis(misconceptions(problem, expected.truth, arithmetic), equals);
    if (!known.empty()) return known;
    if (is_one_strip(problem, o)) {
      return "each element is the part of one strip of 8 key rows: the parts overwrite each "
             "other\n";
    }
    return explain_further(problem, part, rounding, search);
  });
  if (plain_loop == PlainLoop::kToo) {
    const std::vector<float> plain = linear_attention_plain(problem, arithmetic);
    add_plain_loop(verdict, parts(problem, expected, plain, arithmetic));
  }
  return verdict;
}

}  // namespace ladder::reference
