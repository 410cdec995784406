#include "common/operators/judge.hpp"

#include <algorithm>
#include <cmath>
#include <string>

#include "common/judge/judging.hpp"
#include "common/operators/linear_attention/reference.hpp"
#include "common/operators/linear_attention/variants.hpp"
#include "common/operators/misconceptions.hpp"
#include "common/operators/parts.hpp"
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
    if (search == Search::kOne) return "";
    return two_variants(part, rounding, linear_attention_variants(problem.attention_case),
                        LinearAttentionSwitches{},
                        [&](const LinearAttentionSwitches& s, Look look) {
                          return linear_attention_loop(problem, s, look);
                        });
  });
  if (plain_loop == PlainLoop::kToo) {
    const std::vector<float> plain = linear_attention_plain(problem, arithmetic);
    add_plain_loop(verdict, parts(problem, expected, plain, arithmetic));
  }
  return verdict;
}

}  // namespace ladder::reference
