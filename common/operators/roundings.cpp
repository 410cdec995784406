#include "common/operators/roundings.hpp"

#include <algorithm>
#include <cmath>

namespace ladder::reference {
namespace {

// One step of a recurrence: the product with the decay, the sum, and the decay itself, for exp may be off by a unit in the last
// place, two roundoffs, which counts as 4.
constexpr double kOfStep = 6;

// What a term of an output goes through.
struct Path {
  double additions;    // of a sum over channels, keys or queries
  double recurrences;  // states that it is made of
  double operands;     // rounded, with Arithmetic::kBf16Operands
  bool stored;         // as the tensors are; otherwise in fp32
};

Path path_of(const WkvCase& c, WkvOutput output) {
  const double K = static_cast<double>(c.K), V = static_cast<double>(c.V);
  const double T = static_cast<double>(c.B * c.T);
  switch (output) {
    // q and k with decays on them, and the state or the score that they make.
    case WkvOutput::kO: return {K, 1, 3, true};
    case WkvOutput::kDq:
    case WkvOutput::kDk: return {V, 1, 3, true};
    case WkvOutput::kDv: return {K, 1, 3, true};
    // Both states, what they are made of, and the product of the two.
    case WkvOutput::kDLogW:
      return {c.decay_per_head ? V * T : V, 2, 5, c.precision == Precision::kBf16};
    case WkvOutput::kFinalState:
    case WkvOutput::kDInitialState: return {0, 1, 1, false};
    // Products of what is stored: nothing else is rounded.
    default: return {V * T, 0, 0, false};
  }
}

}  // namespace

Memory remembered(const WkvProblem& problem) {
  const WkvCase& c = problem.wkv_case;
  const WkvArgs a = problem.args();
  const bool repeats = c.decay_per_head || c.decay == Decay::kFixed;
  Memory most;
  for (std::int64_t n = 0; n < c.sequences(); ++n) {
    const WkvProblem::Sequence s = problem.sequence(n);
    std::vector<double> roundings(c.H * c.K, 0.0), alike = roundings;
    for (std::int64_t step = 0; step < s.length; ++step) {
      const std::int64_t t = s.first + (c.reverse ? s.length - 1 - step : step);
      const float* log_w = a.log_w + t * a.log_w_stride_T;
      for (std::int64_t i = 0; i < c.H * c.K; ++i) {
        const double w = std::exp(static_cast<double>(log_w[i]));
        roundings[i] = 1 + w * w * roundings[i];
        alike[i] = log_w[i] == 0 || !repeats ? 0 : 1 + w * alike[i];
        most.roundings = std::max(most.roundings, roundings[i]);
        most.alike = std::max(most.alike, alike[i]);
      }
    }
  }
  return most;
}

double unit_roundoff(Precision precision) {
  switch (precision) {
    case Precision::kFp32: return kUnitRoundoff<float>;
    case Precision::kFp16: return kUnitRoundoff<float16>;
    default: return kUnitRoundoff<bfloat16>;
  }
}

namespace {

// Of a result that is stored as tensors of that precision are.
Roundings stored_in(Precision precision) {
  switch (precision) {
    case Precision::kFp32: return {};
    case Precision::kFp16: return stored_as<float16>();
    default: return stored_as<bfloat16>();
  }
}

}  // namespace

Roundings wkv_roundings(const WkvCase& c, const Memory& memory, WkvOutput output,
                        Arithmetic arithmetic) {
  const Path path = path_of(c, output);
  const double u = unit_roundoff(c.precision);
  Roundings result = path.stored ? stored_in(c.precision) : Roundings{};
  if (arithmetic == Arithmetic::kBf16Operands) result.operands = u * std::sqrt(path.operands);
  result.sums =
      kFp32Roundoff *
      (std::sqrt(path.additions + kOfStep * path.recurrences * memory.roundings + kFewRoundings) +
       path.recurrences * memory.alike);
  return result;
}

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

}  // namespace ladder::reference
