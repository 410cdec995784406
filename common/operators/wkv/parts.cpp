#include "common/operators/parts.hpp"

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

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

Layout states_layout(const std::string& array, const WkvCase& c) {
  return layout_of(array, {c.lengths.empty() ? "b" : "sequence", "h", "j", "i"},
                   {c.sequences(), c.H, c.K, c.V});
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

ExpectedWkv expected(const WkvProblem& problem, Arithmetic) {
  return {wkv_recurrence(problem), wkv_terms(problem)};
}

ExpectedWkvGradients expected(const WkvGradProblem& problem, Arithmetic) {
  return {wkv_gradients(problem), wkv_gradient_terms(problem)};
}

std::vector<Part> parts(const WkvProblem& problem, const ExpectedWkv& expected,
                        const WkvOutputs& outputs, Arithmetic arithmetic) {
  const WkvCase& c = problem.wkv_case;
  const Memory memory = remembered(problem);
  std::vector<Part> result = {{layout_of("o", {"b", "t", "h", "i"}, {c.B, c.T, c.H, c.V}),
                               &outputs.o, &expected.truth.o, &expected.terms.o,
                               wkv_roundings(c, memory, WkvOutput::kO, arithmetic)}};
  if (c.final_state) {
    result.push_back({states_layout("final_state", c), &outputs.final_state,
                      &expected.truth.final_state, &expected.terms.final_state,
                      wkv_roundings(c, memory, WkvOutput::kFinalState, arithmetic)});
  }
  return result;
}

std::vector<Part> parts(const WkvGradProblem& problem, const ExpectedWkvGradients& expected,
                        const WkvGradients& gradients, Arithmetic arithmetic) {
  const WkvCase& c = problem.forward.wkv_case;
  const Memory memory = remembered(problem.forward);
  const auto of_tokens = [&](const char* name, const char* channel, std::int64_t width) {
    return layout_of(name, {"b", "t", "h", channel}, {c.B, c.T, c.H, width});
  };
  const auto of_heads = [&](const char* name) { return layout_of(name, {"h", "j"}, {c.H, c.K}); };
  std::vector<Part> result;
  const auto add = [&](const Layout& layout, auto member, auto true_member, WkvOutput output) {
    const std::vector<double>& truth = expected.truth.*true_member;
    if (truth.empty() && (gradients.*member).empty()) return;
    result.push_back({layout, &(gradients.*member), &truth, &(expected.terms.*true_member),
                      wkv_roundings(c, memory, output, arithmetic)});
  };
  using G = WkvGradients;
  using Truth = BasicWkvGradients<double>;
  add(of_tokens("dq", "j", c.K), &G::dq, &Truth::dq, WkvOutput::kDq);
  add(of_tokens("dk", "j", c.K), &G::dk, &Truth::dk, WkvOutput::kDk);
  add(of_tokens("dv", "i", c.V), &G::dv, &Truth::dv, WkvOutput::kDv);
  add(c.decay_per_head ? of_heads("d_log_w") : of_tokens("d_log_w", "j", c.K), &G::d_log_w,
      &Truth::d_log_w, WkvOutput::kDLogW);
  add(of_heads("du"), &G::du, &Truth::du, WkvOutput::kDu);
  add(states_layout("d_initial_state", c), &G::d_initial_state, &Truth::d_initial_state,
      WkvOutput::kDInitialState);
  return result;
}

}  // namespace ladder::reference
