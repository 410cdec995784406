#include "common/operators/judge.hpp"

#include <algorithm>
#include <optional>
#include <string>

#include "common/judge/judging.hpp"
#include "common/operators/misconceptions.hpp"
#include "common/operators/parts.hpp"
#include "common/operators/yardstick.hpp"

namespace ladder::reference {
namespace {

using TrueGradients = BasicWkvGradients<double>;

// Which of the gradients a part is.
std::vector<double> TrueGradients::*member_of(const Part& part) {
  const std::pair<const char*, std::vector<double> TrueGradients::*> members[] = {
      {"dq", &TrueGradients::dq}, {"dk", &TrueGradients::dk},
      {"dv", &TrueGradients::dv}, {"d_log_w", &TrueGradients::d_log_w},
      {"du", &TrueGradients::du}, {"d_initial_state", &TrueGradients::d_initial_state}};
  return std::find_if(std::begin(members), std::end(members),
                      [&](const auto& m) { return part.layout.array == m.first; })
      ->second;
}

}  // namespace

Verdict judge(const WkvProblem& problem, const WkvOutputs& outputs, Arithmetic arithmetic,
              PlainLoop plain_loop) {
  const ExpectedWkv expected = reference::expected(problem, arithmetic);
  // Of o and the final state o is what a right verdict is about.
  std::optional<Verdict> first;
  for (const Part& part : parts(problem, expected, outputs, arithmetic)) {
    const bool is_o = part.layout.array == "o";  // states are stored in fp32
    const bool exact =
        is_o ? problem.wkv_case.precision == Precision::kFp32 : arithmetic == Arithmetic::kFp32;
    const Verdict verdict = judge_part(part, [&] {
      return explain(part, is_o ? &WkvResult::o : &WkvResult::final_state,
                     misconceptions(problem, expected.truth, arithmetic),
                     exact ? 0 : kBf16Rounding);
    });
    if (!verdict.right) return verdict;
    if (!first) first = verdict;
  }
  if (plain_loop == PlainLoop::kToo) {
    const WkvOutputs plain = wkv_plain(problem, arithmetic);
    add_plain_loop(*first, parts(problem, expected, plain, arithmetic));
  }
  return *first;
}

Verdict judge(const WkvGradProblem& problem, const WkvGradients& gradients, Arithmetic arithmetic,
              PlainLoop plain_loop) {
  const ExpectedWkvGradients expected = reference::expected(problem, arithmetic);
  const Precision precision = problem.forward.wkv_case.precision;
  const double rounding = precision == Precision::kFp32 ? 0 : kBf16Rounding;
  Verdict nearest;
  nearest.right = true;
  for (const Part& part : parts(problem, expected, gradients, arithmetic)) {
    const Verdict verdict = judge_part(part, [&] {
      return explain(part, member_of(part), misconceptions(problem, expected.truth, arithmetic),
                     rounding);
    });
    if (!verdict.right) return verdict;
    if (verdict.share > nearest.share) nearest = verdict;
  }
  if (plain_loop == PlainLoop::kToo) {
    const WkvGradients plain = wkv_gradients_plain(problem, arithmetic);
    add_plain_loop(nearest, parts(problem, expected, plain, arithmetic));
  }
  return nearest;
}

}  // namespace ladder::reference
