#include "common/operators/judge.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>

#include "common/judge/judging.hpp"
#include "common/operators/misconceptions.hpp"
#include "common/operators/parts.hpp"
#include "common/operators/shares.hpp"
#include "common/operators/wkv/decay_shares.hpp"
#include "common/operators/wkv/gradient_variants.hpp"
#include "common/operators/wkv/variants.hpp"
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

// Whether the bonus alone is wrong: each step's row of o is off by a multiple of its v.
bool is_another_bonus(const WkvProblem& problem, const Part& o, double rounding) {
  const WkvCase& c = problem.wkv_case;
  std::vector<double> explained(o.truth->size());
  for (std::int64_t row = 0; row < c.B * c.T * c.H; ++row) {
    const float* v = problem.v.pointer() + row * c.V;
    double product = 0, square = 0;
    for (std::int64_t i = 0; i < c.V; ++i) {
      product += ((*o.result)[row * c.V + i] - (*o.truth)[row * c.V + i]) * v[i];
      square += static_cast<double>(v[i]) * v[i];
    }
    for (std::int64_t i = 0; i < c.V; ++i)
      explained[row * c.V + i] = (*o.truth)[row * c.V + i] + product / square * v[i];
  }
  const auto finite = [](double x) { return std::isfinite(x); };
  return std::all_of(explained.begin(), explained.end(), finite) &&
         roughly_equal(*o.result, explained, c.V, rounding);
}

// Key rows that count for more or less than once.
std::string explain_by_rows(const WkvProblem& problem, const Part& o) {
  const WkvCase& c = problem.wkv_case;
  const bool gla = c.recurrence == Recurrence::kGla;
  if (wkv_fma_count(problem.args()) * static_cast<double>(2 * c.K) > kMostTaken) return "";
  const WkvSwitches right = right_switches(c.recurrence);
  std::vector<PartOfRows> parts;
  for (const bool state : {true, false}) {
    if (gla && !state) continue;
    PartOfRows& part = parts.emplace_back();
    part.name = state ? "the state's part" : "the bonus";
    for (std::int64_t row = 0; row < c.K; ++row) {
      WkvSwitches one = right;
      one.arrives = [row](std::int64_t j) { return j == row; };
      if (state) one.bonus = WkvSwitches::Bonus::kNone;
      one.state_read = state;
      part.terms.push_back(wkv_loop(problem, one).o);
    }
  }
  return explain_rows(*o.result, parts, c.scale);
}

// Steps whose share in o is wrong.
std::string explain_by_steps(const WkvProblem& problem, const Part& o, double rounding) {
  const WkvCase& c = problem.wkv_case;
  if (c.reverse || !c.lengths.empty()) return "";
  const ShareSolver solver({problem.v.pointer(), c.B, c.T, c.H, c.V}, c.T, c.H, rounding);
  std::vector<KnownShares> known = decay_shares(problem);
  const std::vector<KnownShares> variants =
      known_shares(solver, wkv_variants(c), right_switches(c.recurrence),
                   [&](const WkvSwitches& s) { return wkv_loop(problem, s).o; });
  known.insert(known.end(), variants.begin(), variants.end());
  return explain_shares(solver, *o.result, *o.truth, known, "step", "step");
}

// The words for an o that no one mistake gives.
std::string explain_further(const WkvProblem& problem, const Part& o, double rounding,
                            Search search) {
  const Recurrence recurrence = problem.wkv_case.recurrence;
  if (recurrence == Recurrence::kWkv && is_another_bonus(problem, o, rounding)) {
    const std::string words = explain_by_rows(problem, o);
    return !words.empty()
               ? words
               : "The bonus alone is wrong: o is off by a multiple of v in each step. Which u is "
                 "read, and is the bonus multiplied as the state is?\n";
  }
  std::string words = constant_factor(o, rounding);
  if (words.empty()) words = explain_by_steps(problem, o, rounding);
  if (words.empty() && search == Search::kTwo) {
    words =
        two_variants(o, rounding, wkv_variants(problem.wkv_case), right_switches(recurrence),
                     [&](const WkvSwitches& s, Look look) { return wkv_loop(problem, s, look).o; });
  }
  return words.empty() ? explain_by_rows(problem, o) : words;
}

}  // namespace

Verdict judge(const WkvProblem& problem, const WkvOutputs& outputs, Arithmetic arithmetic,
              PlainLoop plain_loop, Search search) {
  const ExpectedWkv expected = reference::expected(problem, arithmetic);
  // Of o and the final state o is what a right verdict is about.
  std::optional<Verdict> first;
  for (const Part& part : parts(problem, expected, outputs, arithmetic)) {
    const bool is_o = part.layout.array == "o";  // states are stored in fp32
    const bool exact =
        is_o ? problem.wkv_case.precision == Precision::kFp32 : arithmetic == Arithmetic::kFp32;
    const double rounding = exact ? 0 : kBf16Rounding;
    const Verdict verdict = judge_part(part, [&]() -> std::string {
      if (wkv_fma_count(problem.args()) > kMostExplained) return kTooLarge;
      const auto array = is_o ? &WkvResult::o : &WkvResult::final_state;
      const std::string words =
          explain(part, array, misconceptions(problem, expected.truth, arithmetic), rounding);
      if (!words.empty() || !is_o) return words;
      return explain_further(problem, part, rounding, search);
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
              PlainLoop plain_loop, Search search) {
  const ExpectedWkvGradients expected = reference::expected(problem, arithmetic);
  const Precision precision = problem.forward.wkv_case.precision;
  const double rounding = precision == Precision::kFp32 ? 0 : kBf16Rounding;
  Verdict nearest;
  nearest.right = true;
  const std::vector<Part> all = parts(problem, expected, gradients, arithmetic);
  for (const Part& part : all) {
    const Verdict verdict = judge_part(part, [&]() -> std::string {
      if (wkv_fma_count(problem.forward.args()) > kMostExplained) return kTooLarge;
      const std::string words = explain<TrueGradients>(
          all, part, member_of, misconceptions(problem, expected.truth, arithmetic), rounding);
      if (!words.empty() || search == Search::kOne) return words;
      return two_variants(part, member_of(part), rounding,
                          wkv_gradient_variants(problem.forward.wkv_case),
                          [&](const WkvGradSwitches& s) { return wkv_gradient_loop(problem, s); });
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
