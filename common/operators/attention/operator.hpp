// Softmax attention and its gradients as operators.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "common/judge/random.hpp"
#include "common/judge/sequences.hpp"
#include "common/operators/attention/cases.hpp"
#include "common/operators/attention/truth.hpp"

namespace ladder {

struct Attention {
  static constexpr const char* kName = "attention";
  using Case = AttentionCase;
  using Problem = AttentionProblem;
  using Outputs = AttentionOutputs;
  using Storages = Types<AttentionArgs, AttentionBf16Args, AttentionFp16Args>;
};
struct AttentionBackward {
  static constexpr const char* kName = "attention_backward";
  using Case = AttentionCase;
  using Problem = AttentionGradProblem;
  using Outputs = AttentionGradients;
  using Storages = Types<AttentionGradArgs, AttentionGradBf16Args, AttentionGradFp16Args>;
};

template <>
Operator& operator_of<Attention>();
template <>
Operator& operator_of<AttentionBackward>();

// Sets the fields that both operators share. A check's work grows with the square of T, so above
// `most_judged_whole` FMAs only a sample is judged: windows of successive queries in the first, a
// middle and the last batch, for all heads, or for gradients some heads with all queries and keys.
Operator attention_operator(Operator op);
std::optional<Operator::Sample> sample_of(const AttentionProblem& problem,
                                          const AttentionOutputs& outputs,
                                          double most_judged_whole);
std::optional<Operator::Sample> sample_of(const AttentionGradProblem& problem,
                                          const AttentionGradients& gradients,
                                          double most_judged_whole);
template <typename Typed>
std::optional<Operator::Sample> sample_by(const Problem& problem, const OutputsAt& outputs,
                                          double most_judged_whole) {
  using TypedOutputs = typename Typed::Op::Outputs;
  return sample_of(Typed(problem), typed<TypedOutputs>(problem, outputs), most_judged_whole);
}
double judged_fma(const AttentionArgs& args);
double judged_fma(const AttentionGradArgs& args);

// For tests (edges.cpp, trials.cpp). Programs without tests do not link these.
template <typename Op>
std::shared_ptr<const Plan> attention_plan(const Support& support);
SupportWords attention_support_words();
template <typename Args>
std::vector<BadInput<Args>> attention_bad_inputs(const Support& support);
std::vector<AttentionCase> attention_cases(const Support& support);

// Run the implementation once, as run_as does.
AttentionOutputs run(const Implementation& implementation, const AttentionProblem& problem);
AttentionGradients run_backward(const Implementation& implementation,
                                const AttentionGradProblem& problem);

}  // namespace ladder
