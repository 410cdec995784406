// The operator that ./ladder run does not climb: its first program is built without it.
#include "common/operators/attention/operator.hpp"

namespace ladder {

AttentionOutputs run(const Implementation& implementation, const AttentionProblem& problem) {
  return run_as<Attention>(implementation, problem);
}

AttentionGradients run_backward(const Implementation& implementation,
                                const AttentionGradProblem& problem) {
  return run_as<AttentionBackward>(implementation, problem);
}

template Operator& operator_of<AttentionBackward>();

namespace {

const OperatorRegistration<AttentionBackward> attention_backward_registration(8);

}  // namespace

}  // namespace ladder
