#include "common/operators/judge.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <sstream>

#include "common/judge/judging.hpp"
#include "common/operators/attention/gradient_variants.hpp"
#include "common/operators/attention/reference.hpp"
#include "common/operators/attention/variants.hpp"
#include "common/operators/misconceptions.hpp"
#include "common/operators/parts.hpp"
#include "common/operators/shares.hpp"
#include "common/operators/yardstick.hpp"

namespace ladder::reference {
namespace {

using Gradients = BasicAttentionGradients<double>;

constexpr float kInfinity = std::numeric_limits<float>::infinity();

// There are more of them than of the other operators.
constexpr double kMostExplainedHere = 1e7;

double rounding_of(const AttentionCase& c) {
  return c.precision == Precision::kFp32 ? 0 : kBf16Rounding;
}

// Whether each of `queries`, (B * T_q) x H_q, sees a key, and each of `keys`, (B * T_k) x H_kv, is seen.
struct Involved {
  std::vector<bool> queries, keys;

  explicit Involved(const AttentionProblem& p)
      : queries(p.attention_case.B * p.attention_case.T_q * p.attention_case.H_q),
        keys(p.attention_case.B * p.attention_case.T_k * p.attention_case.H_kv) {
    const AttentionCase& c = p.attention_case;
    for (std::int64_t n = 0; n < c.sequences(); ++n) {
      const AttentionProblem::Sequence s = p.sequence(n);
      for (std::int64_t l = 0; l < s.queries; ++l) {
        if (p.keys_seen(s, l) > 0)
          std::fill_n(queries.begin() + (s.first_query + l) * c.H_q, c.H_q, true);
      }
      if (s.queries > 0) std::fill_n(keys.begin() + s.first_key * c.H_kv, s.keys * c.H_kv, true);
    }
  }
};

// Says which row of an uninvolved query or key is not exactly 0; nothing where they all are.
std::string not_zero(const Layout& layout, const std::vector<float>& result,
                     const std::vector<bool>& involved, const char* rule) {
  for (std::size_t i = 0; i < result.size(); ++i) {
    if (involved[i / layout.row()] || result[i] == 0) continue;
    std::ostringstream text;
    text << "WRONG RESULT in " << layout.array << "\n"
         << layout.position(i) << " is " << result[i] << "; " << rule << "\n";
    return text.str();
  }
  return "";
}

// Which of the gradients a part is.
std::vector<double> Gradients::*member_of(const Part& part) {
  return part.layout.array == "dq"   ? &Gradients::dq
         : part.layout.array == "dk" ? &Gradients::dk
                                     : &Gradients::dv;
}

Verdict wrong(const std::string& message) {
  Verdict verdict;
  verdict.message = message;
  return verdict;
}

std::string diagnosis_of(const AttentionProblem& problem, const AttentionOutputs& outputs,
                         const AttentionResult& truth, Arithmetic arithmetic, Search search) {
  if (attention_fma_count(problem.args()) > kMostExplainedHere) return kTooLarge;
  const double rounding = rounding_of(problem.attention_case);
  const auto same_o = [&](const AttentionResult& other) {
    return equals_answer(outputs.o, other.o, 1, rounding);
  };
  const auto same_lse = [&](const AttentionResult& other) {
    return equals_answer(outputs.lse, other.lse, 1, 0);
  };
  // Where o hides it behind its rounding, lse does not.
  const bool o_is_right = same_o(truth);
  if (o_is_right && same_lse(truth)) return "";
  const auto same = [&](const AttentionResult& other) {
    return o_is_right ? same_lse(other) : same_o(other);
  };
  const std::string words = diagnosis(misconceptions(problem, truth, arithmetic), same);
  if (!words.empty() || o_is_right) return words;
  const AttentionCase& c = problem.attention_case;
  const auto loop = [&problem](const AttentionSwitches& s, Look look) {
    return attention_loop(problem, s, look).o;
  };
  const Variants<AttentionSwitches> variants = attention_variants(c);
  const ExpectedAttention none{truth, truth};
  const Part part = parts(problem, none, outputs, arithmetic).front();
  std::string further = constant_factor(part, rounding);
  if (further.empty() && c.lengths.empty()) {
    const ShareSolver solver({problem.v.pointer(), c.B, c.T_k, c.H_kv, c.D}, c.T_q, c.H_q,
                             rounding);
    const auto known =
        known_shares(solver, variants, AttentionSwitches{},
                     [&](const AttentionSwitches& s) { return loop(s, Look::kThorough); });
    further = explain_shares(solver, outputs.o, truth.o, known, "query", "key");
  }
  if (!further.empty() || search == Search::kOne) return further;
  return two_variants(part, rounding, variants, AttentionSwitches{}, loop);
}

}  // namespace

Verdict judge(const AttentionProblem& problem, const AttentionOutputs& outputs,
              Arithmetic arithmetic, PlainLoop plain_loop, Search search) {
  ExpectedAttention expected = reference::expected(problem, arithmetic);
  const AttentionResult truth = expected.truth;
  const auto explain = [&] { return diagnosis_of(problem, outputs, truth, arithmetic, search); };
  AttentionOutputs finite = outputs;
  const std::vector<Part> both = parts(problem, expected, finite, arithmetic);
  const Part &o = both[0], &lse = both[1];
  if (outputs.o.size() == truth.o.size() && outputs.lse.size() == truth.lse.size()) {
    const std::string message =
        not_zero(o.layout, outputs.o, Involved(problem).queries,
                 "a query that sees no key must have o = 0 and lse = -inf, exactly");
    if (!message.empty()) return wrong(message + explain());
    // What must be -inf is, from here on, as good as 0 where it is.
    for (std::size_t i = 0; i < truth.lse.size(); ++i) {
      if (truth.lse[i] == -kInfinity && outputs.lse[i] == -kInfinity)
        expected.truth.lse[i] = finite.lse[i] = 0;
    }
  }
  Verdict of_o = judge_part(o, explain);
  if (!of_o.right) return of_o;
  for (std::size_t i = 0; i < finite.lse.size() && finite.lse.size() == truth.lse.size(); ++i) {
    if (expected.truth.lse[i] != -kInfinity) continue;
    std::ostringstream text;
    text << "WRONG RESULT in lse\n"
         << lse.layout.position(i) << " is " << outputs.lse[i]
         << "; a query that sees no key must have o = 0 and lse = -inf, exactly\n";
    return wrong(text.str() + explain());
  }
  const Verdict of_lse = judge_part(lse, explain);
  if (!of_lse.right) return of_lse;
  if (plain_loop == PlainLoop::kToo) {
    const AttentionOutputs plain = attention_plain(problem, arithmetic);
    add_plain_loop(of_o, parts(problem, expected, plain, arithmetic));
  }
  return of_o;
}

Verdict judge(const AttentionGradProblem& problem, const AttentionGradients& gradients,
              Arithmetic arithmetic, PlainLoop plain_loop, Search search) {
  const ExpectedAttentionGradients expected = reference::expected(problem, arithmetic);
  const Gradients& truth = expected.truth;
  const Involved involved(problem.forward);
  Verdict nearest;
  nearest.right = true;
  const std::vector<Part> all = parts(problem, expected, gradients, arithmetic);
  const double rounding = rounding_of(problem.forward.attention_case);
  for (const Part& part : all) {
    const bool of_query = part.layout.array == "dq";
    const auto explain = [&]() -> std::string {
      if (attention_fma_count(problem.forward.args()) > kMostExplainedHere) return kTooLarge;
      const std::string words = reference::explain<Gradients>(
          all, part, member_of, misconceptions(problem, truth, arithmetic), rounding);
      if (!words.empty() || search == Search::kOne) return words;
      return two_variants(
          part, member_of(part), rounding,
          attention_gradient_variants(problem.forward.attention_case),
          [&](const AttentionGradSwitches& s) { return attention_gradient_loop(problem, s); });
    };
    if (part.result->size() == part.truth->size()) {
      const std::string message =
          not_zero(part.layout, *part.result, of_query ? involved.queries : involved.keys,
                   of_query ? "the gradient of a query that sees no key must be 0, exactly"
                            : "the gradient of a key that no query sees must be 0, exactly");
      if (!message.empty()) return wrong(message + explain());
    }
    const Verdict verdict = judge_part(part, explain);
    if (!verdict.right) return verdict;
    if (verdict.share > nearest.share) nearest = verdict;
  }
  if (plain_loop == PlainLoop::kToo) {
    const AttentionGradients plain = attention_gradients_plain(problem, arithmetic);
    add_plain_loop(nearest, parts(problem, expected, plain, arithmetic));
  }
  return nearest;
}

}  // namespace ladder::reference
