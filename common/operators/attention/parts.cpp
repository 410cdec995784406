#include "common/operators/parts.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

namespace ladder::reference {
namespace {

Layout queries_layout(const char* array, const AttentionCase& c) {
  return layout_of(array, {"b", "t", "h", "i"}, {c.B, c.T_q, c.H_q, c.D}, "query");
}

Layout keys_layout(const char* array, const AttentionCase& c) {
  return layout_of(array, {"b", "t", "h", "i"}, {c.B, c.T_k, c.H_kv, c.D}, "key");
}

}  // namespace

Roundings attention_roundings(const AttentionCase& c, AttentionOutput output,
                              Arithmetic arithmetic) {
  const bool rounds = arithmetic == Arithmetic::kBf16Operands;
  const double u = unit_roundoff(c.precision), D = static_cast<double>(c.D);
  const double keys = static_cast<double>(c.T_k);
  const double queries = static_cast<double>(c.T_q * (c.H_q / std::max<std::int64_t>(1, c.H_kv)));
  Roundings result = stored_in(c.precision);
  const auto of_sums = [&](double additions) {
    return kFp32Roundoff * std::sqrt(D + additions + kFewRoundings);
  };
  switch (output) {
    // Of scores, whose operands are stored, and of a sum of weights that are not rounded.
    case AttentionOutput::kLse: return {.sums = of_sums(0)};
    case AttentionOutput::kO:
    case AttentionOutput::kDv:
      if (rounds) result.operands = u;
      result.sums = of_sums(output == AttentionOutput::kO ? keys : queries);
      return result;
    // o is stored as the tensors are, and delta made from it; the gradients of scores are rounded.
    default:
      if (c.precision != Precision::kFp32) result.operands = u * std::sqrt(rounds ? 2.0 : 1.0);
      result.sums = of_sums(output == AttentionOutput::kDq ? keys : queries);
      return result;
  }
}

double score_roundoff(const AttentionCase& c, const Roundings& roundings) {
  if (roundings.operands == 0) return 1;
  return kFp32Roundoff * std::sqrt(static_cast<double>(c.D) + kFewRoundings) / roundings.operands;
}

ExpectedAttention expected(const AttentionProblem& problem, Arithmetic arithmetic) {
  const AttentionCase& c = problem.attention_case;
  const Roundings roundings = attention_roundings(c, AttentionOutput::kO, arithmetic);
  return {attention_closed_sum(problem), attention_terms(problem, score_roundoff(c, roundings))};
}

ExpectedAttentionGradients expected(const AttentionGradProblem& problem, Arithmetic arithmetic) {
  const AttentionCase& c = problem.forward.attention_case;
  const auto of = [&](AttentionOutput output) {
    return score_roundoff(c, attention_roundings(c, output, arithmetic));
  };
  return {attention_gradients(problem),
          attention_gradient_terms(
              problem, {.dv = of(AttentionOutput::kDv), .ds = of(AttentionOutput::kDq)})};
}

std::vector<Part> parts(const AttentionProblem& problem, const ExpectedAttention& expected,
                        const AttentionOutputs& outputs, Arithmetic arithmetic) {
  const AttentionCase& c = problem.attention_case;
  return {{queries_layout("o", c), &outputs.o, &expected.truth.o, &expected.terms.o,
           attention_roundings(c, AttentionOutput::kO, arithmetic)},
          {layout_of("lse", {"b", "h", "t"}, {c.B, c.H_q, c.T_q}, "query"), &outputs.lse,
           &expected.truth.lse, &expected.terms.lse,
           attention_roundings(c, AttentionOutput::kLse, arithmetic)}};
}

std::vector<Part> parts(const AttentionGradProblem& problem,
                        const ExpectedAttentionGradients& expected,
                        const AttentionGradients& gradients, Arithmetic arithmetic) {
  const AttentionCase& c = problem.forward.attention_case;
  const auto part = [&](const Layout& layout, auto member, auto true_member,
                        AttentionOutput output) {
    return Part{layout, &(gradients.*member), &(expected.truth.*true_member),
                &(expected.terms.*true_member), attention_roundings(c, output, arithmetic)};
  };
  using G = AttentionGradients;
  using Truth = BasicAttentionGradients<double>;
  return {part(queries_layout("dq", c), &G::dq, &Truth::dq, AttentionOutput::kDq),
          part(keys_layout("dk", c), &G::dk, &Truth::dk, AttentionOutput::kDk),
          part(keys_layout("dv", c), &G::dv, &Truth::dv, AttentionOutput::kDv)};
}

}  // namespace ladder::reference
