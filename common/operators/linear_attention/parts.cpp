#include "common/operators/parts.hpp"

#include <cmath>
#include <vector>

#include "common/operators/linear_attention/reference.hpp"

namespace ladder::reference {

Roundings linear_attention_roundings(const LinearAttentionCase& c, Arithmetic arithmetic) {
  const double u = unit_roundoff(c.precision), K = static_cast<double>(c.K);
  Roundings result = stored_in(c.precision);
  // phi(q), phi(k), and the state or the score that they make.
  if (arithmetic == Arithmetic::kBf16Operands) result.operands = u * std::sqrt(3.0);
  result.sums = kFp32Roundoff * std::sqrt(K + static_cast<double>(c.T_k) + kFewRoundings);
  // phi of small numbers is 1. A sum of n equal terms rounds alike until it doubles: by n / 4 units in the mean.
  if (c.feature_map == FeatureMap::kEluPlusOne) result.sums += kFp32Roundoff * K / 4;
  return result;
}

ExpectedLinearAttention expected(const LinearAttentionProblem& problem, Arithmetic) {
  return {linear_attention_recurrence(problem), linear_attention_terms(problem)};
}

std::vector<Part> parts(const LinearAttentionProblem& problem,
                        const ExpectedLinearAttention& expected, const std::vector<float>& o,
                        Arithmetic arithmetic) {
  const LinearAttentionCase& c = problem.attention_case;
  return {{layout_of("o", {"b", "t", "h", "i"}, {c.B, c.T_q, c.H, c.V}), &o, &expected.truth,
           &expected.terms, linear_attention_roundings(c, arithmetic)}};
}

}  // namespace ladder::reference
