#include "common/operators/judge.hpp"

#include <algorithm>
#include <cmath>
#include <string>

#include "common/judge/judging.hpp"
#include "common/operators/linear_attention/reference.hpp"
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
              Arithmetic arithmetic, PlainLoop plain_loop) {
  const ExpectedLinearAttention expected = reference::expected(problem, arithmetic);
  const Part part = parts(problem, expected, o, arithmetic).front();
  const double rounding = problem.attention_case.precision == Precision::kFp32 ? 0 : kBf16Rounding;
  Verdict verdict = judge_part(part, [&]() -> std::string {
    if (roughly_equal(o, expected.truth, part.layout.row(), rounding)) return "";
    const auto equals = [&](const std::vector<double>& other) {
      return roughly_equal(o, other, part.layout.row(), rounding);
    };
    const std::string known =
        diagnosis(misconceptions(problem, expected.truth, arithmetic), equals);
    if (!known.empty() || !is_one_strip(problem, o)) return known;
    return "each element is the part of one strip of 8 key rows: the parts overwrite each other\n";
  });
  if (plain_loop == PlainLoop::kToo) {
    const std::vector<float> plain = linear_attention_plain(problem, arithmetic);
    add_plain_loop(verdict, parts(problem, expected, plain, arithmetic));
  }
  return verdict;
}

}  // namespace ladder::reference
