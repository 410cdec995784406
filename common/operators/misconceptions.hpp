// Wrong answers that somebody gives, one list for each operator. The diagnosis looks for the one that a result equals, and the self-test
// of the judge plants them. Each is made from what the truth gets or gives: the truth itself has no switch.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <string>
#include <vector>

#include "common/core/registry.hpp"
#include "common/judge/judging.hpp"
#include "common/operators/attention/reference.hpp"
#include "common/operators/linear_attention/problem.hpp"
#include "common/operators/variants.hpp"
#include "common/operators/wkv/reference.hpp"

namespace ladder::reference {

template <typename Result>
struct Misconception {
  std::string words;  // "equals the result with the bonus forgotten"
  // Elements that are not finite: not written, or overflowed.
  std::function<Result()> answer;
  std::int64_t tile = 0;  // one of several that may fit, named where the words have a *
  // What is rounded too coarsely ("tf32"): an answer that is nearly the truth. Empty for all others.
  std::string slight = "";
};

template <typename Result>
using Misconceptions = std::vector<Misconception<Result>>;

// The usual lengths of chunks and tiles.
inline constexpr std::int64_t kUsualTiles[] = {16, 32, 64, 128};

// In the order in which they are looked for. They refer to the problem and to the truth.
Misconceptions<WkvResult> misconceptions(const WkvProblem& problem, const WkvResult& truth,
                                         Arithmetic arithmetic);
Misconceptions<BasicWkvGradients<double>> misconceptions(const WkvGradProblem& problem,
                                                         const BasicWkvGradients<double>& truth,
                                                         Arithmetic arithmetic);
Misconceptions<std::vector<double>> misconceptions(const LinearAttentionProblem& problem,
                                                   const std::vector<double>& truth,
                                                   Arithmetic arithmetic);
Misconceptions<AttentionResult> misconceptions(const AttentionProblem& problem,
                                               const AttentionResult& truth, Arithmetic arithmetic);
Misconceptions<BasicAttentionGradients<double>> misconceptions(
    const AttentionGradProblem& problem, const BasicAttentionGradients<double>& truth,
    Arithmetic arithmetic);

// The words of the first one whose answer `equals` accepts, with all of its tiles that fit: "in chunks of 16 or 32".
template <typename Result, typename Equals>
std::string diagnosis(const Misconceptions<Result>& list, const Equals& equals) {
  for (auto first = list.begin(); first != list.end(); ++first) {
    if (!equals(first->answer())) continue;
    std::string words = first->words, tiles = std::to_string(first->tile);
    std::int64_t last = first->tile;
    for (auto next = first + 1; next != list.end() && next->words == words; ++next) {
      if (next->tile == last || !equals(next->answer())) continue;
      last = next->tile;
      tiles += " or " + std::to_string(last);
    }
    const auto at = words.find('*');
    if (at != std::string::npos) words.replace(at, 1, tiles);
    return words + "\n";
  }
  return "";
}

// Whether a result equals an answer. Where the answer computes no number, the result has one that is none and was written.
bool equals_answer(const std::vector<float>& result, const std::vector<double>& answer,
                   std::int64_t row, double rounding);

// The words for a result, o of (B, T, H, width), that two of the variants together give. `loop(switches, look)` is their o.
template <typename Switches, typename Loop>
std::string two_variants(const Part& part, double rounding, const Variants<Switches>& list,
                         const Switches& right, const Loop& loop) {
  const std::vector<std::int64_t>& sizes = part.layout.sizes;
  const auto looked_at = [&](const std::vector<double>& o) {
    return quick_look(o, sizes[1], sizes[2], sizes[3]);
  };
  const std::vector<double> rows = looked_at({part.result->begin(), part.result->end()});
  const std::vector<float> quick(rows.begin(), rows.end());
  // A quick look may be deceived.
  constexpr double kDeceived = 1e-3;
  return pair_diagnosis(
      "equals the result ", list, right,
      [&](const Switches& s) {
        const std::vector<double> answer = looked_at(loop(s, Look::kQuick));
        const bool written =
            std::any_of(answer.begin(), answer.end(), [](double x) { return std::isfinite(x); });
        return !written || roughly_equal(quick, answer, sizes[3], rounding + kDeceived);
      },
      [&](const Switches& s) {
        return equals_answer(*part.result, loop(s, Look::kThorough), part.layout.row(), rounding);
      });
}

// A misconception is recognised by computing what it gives, and there are about a hundred of them. Multiply-adds:
inline constexpr double kMostExplained = 3e7;
// Parts of the truth, of which one for each key row is taken. Multiply-adds of all:
inline constexpr double kMostTaken = 3e8;
inline constexpr const char* kTooLarge =
    "no misconception is looked for in a case as large as this\n";

// Of one array, `array` of the answers: the words for its result. A result that is almost right is not what a misconception gives.
template <typename Result>
std::string explain(const Part& part, std::vector<double> Result::*array,
                    const Misconceptions<Result>& list, double rounding) {
  const auto equals = [&](const std::vector<double>& other) {
    return equals_answer(*part.result, other, part.layout.row(), rounding);
  };
  if (equals(*part.truth)) return "";
  return diagnosis(list, [&](const Result& answer) { return equals(answer.*array); });
}

// Of one of several gradients. Where several are wrong, a misconception that gives all of them comes before one that gives this one.
template <typename Result>
std::string explain(const std::vector<Part>& all, const Part& part,
                    const std::function<std::vector<double> Result::*(const Part&)>& member_of,
                    const Misconceptions<Result>& list, double rounding) {
  const auto equals = [&](const Part& of, const Result& answer) {
    return equals_answer(*of.result, answer.*member_of(of), of.layout.row(), rounding);
  };
  if (equals_answer(*part.result, *part.truth, part.layout.row(), rounding)) return "";
  const std::string words = diagnosis(list, [&](const Result& answer) {
    return std::all_of(all.begin(), all.end(),
                       [&](const Part& each) { return equals(each, answer); });
  });
  return words.empty() ? diagnosis(list, [&](const Result& answer) { return equals(part, answer); })
                       : words;
}

// The words for one of several gradients that two of the variants together give.
template <typename Result, typename Switches, typename Loop>
std::string two_variants(const Part& part, std::vector<double> Result::*member, double rounding,
                         const Variants<Switches>& list, const Loop& loop) {
  return pair_diagnosis(
      "equals the gradient ", list, Switches{}, [](const Switches&) { return true; },
      [&](const Switches& s) {
        return equals_answer(*part.result, loop(s).*member, part.layout.row(), rounding);
      });
}

// As tensor cores take operands of fp32: to 11 significant bits.
void to_tf32(std::initializer_list<Tensor<float>*> tensors);
double bf16(double x);

// The problem of somebody whose query reaches some of the key rows only.
template <typename Problem>
Problem with_rows(Problem problem, const std::function<bool(std::int64_t)>& arrives) {
  const std::int64_t K = problem.q.shape.back();
  for (std::size_t i = 0; i < problem.q.data.size(); ++i) {
    if (!arrives(static_cast<std::int64_t>(i) % K)) problem.q.data[i] = 0;
  }
  return problem;
}

}  // namespace ladder::reference
