#include "common/operators/parts.hpp"

#include <string>
#include <utility>

#include "common/operators/linear_attention/reference.hpp"

namespace ladder::reference {
namespace {

Layout states_layout(const std::string& array, const WkvCase& c) {
  return {
      array, {c.lengths.empty() ? "b" : "sequence", "h", "j", "i"}, {c.sequences(), c.H, c.K, c.V}};
}

Layout queries_layout(const char* array, const AttentionCase& c) {
  return {array, {"b", "t", "h", "i"}, {c.B, c.T_q, c.H_q, c.D}};
}

Layout keys_layout(const char* array, const AttentionCase& c) {
  return {array, {"b", "t", "h", "i"}, {c.B, c.T_k, c.H_kv, c.D}};
}

}  // namespace

ExpectedWkv expected(const WkvProblem& problem, Arithmetic) {
  return {wkv_recurrence(problem), wkv_terms(problem)};
}

ExpectedWkvGradients expected(const WkvGradProblem& problem, Arithmetic) {
  return {wkv_gradients(problem), wkv_gradient_terms(problem)};
}

ExpectedLinearAttention expected(const LinearAttentionProblem& problem, Arithmetic) {
  return {linear_attention_recurrence(problem), linear_attention_terms(problem)};
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

std::vector<Part> parts(const WkvProblem& problem, const ExpectedWkv& expected,
                        const WkvOutputs& outputs, Arithmetic arithmetic) {
  const WkvCase& c = problem.wkv_case;
  const Memory memory = remembered(problem);
  std::vector<Part> result = {{{"o", {"b", "t", "h", "i"}, {c.B, c.T, c.H, c.V}},
                               &outputs.o,
                               &expected.truth.o,
                               &expected.terms.o,
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
    return Layout{name, {"b", "t", "h", channel}, {c.B, c.T, c.H, width}};
  };
  const auto of_heads = [&](const char* name) { return Layout{name, {"h", "j"}, {c.H, c.K}}; };
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

std::vector<Part> parts(const LinearAttentionProblem& problem,
                        const ExpectedLinearAttention& expected, const std::vector<float>& o,
                        Arithmetic arithmetic) {
  const LinearAttentionCase& c = problem.attention_case;
  return {{{"o", {"b", "t", "h", "i"}, {c.B, c.T_q, c.H, c.V}},
           &o,
           &expected.truth,
           &expected.terms,
           linear_attention_roundings(c, arithmetic)}};
}

std::vector<Part> parts(const AttentionProblem& problem, const ExpectedAttention& expected,
                        const AttentionOutputs& outputs, Arithmetic arithmetic) {
  const AttentionCase& c = problem.attention_case;
  return {{queries_layout("o", c), &outputs.o, &expected.truth.o, &expected.terms.o,
           attention_roundings(c, AttentionOutput::kO, arithmetic)},
          {{"lse", {"b", "h", "t"}, {c.B, c.H_q, c.T_q}},
           &outputs.lse,
           &expected.truth.lse,
           &expected.terms.lse,
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
