#include "common/operators/attention/operator.hpp"

#include "common/core/operator.hpp"

#include <algorithm>

#include "common/operators/attention/reference.hpp"
#include "common/operators/attention/sample.hpp"

namespace ladder {
namespace {

// `share` of the work, where it is too much to be judged whole.
double judged(double fma, double share) {
  return fma <= reference::kMostJudgedWhole ? fma : fma * std::min(1.0, share);
}

}  // namespace

AttentionCase AttentionOperator::make_case(const Sizes& s) {
  require(s.K == s.V, "--shape has K=" + std::to_string(s.K) + " and V=" + std::to_string(s.V) +
                          "; allowed for softmax attention: D = K = V");
  require(s.H_kv == 0 || s.H % s.H_kv == 0, "--shape has H=" + std::to_string(s.H) +
                                                " and H_kv=" + std::to_string(s.H_kv) +
                                                "; allowed: H a multiple of H_kv");
  return {.B = s.B,
          .T_q = s.T_q > 0 ? s.T_q : s.T,
          .T_k = s.T,
          .H_q = s.H,
          .H_kv = s.H_kv > 0 ? s.H_kv : s.H,
          .D = s.K};
}

bool AttentionOperator::set_size(Shape& shape, const std::string& name, std::int64_t value) {
  if (name != "D") return false;
  shape.set("K", value);
  shape.set("V", value);
  return true;
}

void AttentionOperator::settle(Case& c, Shape& shape) {
  if (c.lengths.empty()) return;
  c = packed(c, c.lengths);
  shape.set("B", c.B);
  shape.set("T", c.T_k);
  shape.set("T_q", c.T_q == c.T_k ? 0 : c.T_q);
}

bool AttentionOperator::wants(const Case& c, const std::string& array) {
  if (array == "key_lengths") return c.key_lengths;
  if (array == "cu_seqlens_q" || array == "cu_seqlens_k") return !c.lengths.empty();
  return true;
}

double Attention::judged_fma(const Case& c) {
  return judged(fma_count(sizes(c)),
                reference::kSampledQueries / (static_cast<double>(c.B) * c.T_q));
}

Verdict Attention::judge_for_report(const Problem& problem, const Outputs& outputs,
                                    Arithmetic arithmetic) {
  return reference::judge_sample(problem, outputs, arithmetic);
}

AttentionGradProblem AttentionBackward::make_problem(const Case& c) {
  return reference::make_attention_grad_problem(ladder::make_problem(c));
}

double AttentionBackward::judged_fma(const Case& c) {
  return judged(fma_count(sizes(c)), reference::kSampledHeads / (static_cast<double>(c.B) * c.H_q));
}

Verdict AttentionBackward::judge_for_report(const Problem& problem, const Outputs& outputs,
                                            Arithmetic arithmetic) {
  return reference::judge_sample(problem, outputs, arithmetic);
}

AttentionOutputs run(const Implementation& implementation, const AttentionProblem& problem) {
  return run_as<Attention>(implementation, problem);
}

AttentionGradients run_backward(const Implementation& implementation,
                                const AttentionGradProblem& problem) {
  return run_as<AttentionBackward>(implementation, problem);
}

namespace {

const OperatorRegistration<Attention> attention_registration(7);
const OperatorRegistration<AttentionBackward> attention_backward_registration(8);

}  // namespace

}  // namespace ladder
