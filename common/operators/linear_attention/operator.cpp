#include "common/operators/linear_attention/operator.hpp"

namespace ladder {

std::vector<float> run(const Implementation& implementation,
                       const LinearAttentionProblem& problem) {
  return run_as<LinearAttention>(implementation, problem);
}

template Operator& operator_of<LinearAttention>();
template Operator& operator_of<CausalDotProduct>();

namespace {

const OperatorRegistration<LinearAttention> linear_attention_registration(5);
const OperatorRegistration<CausalDotProduct> causal_dot_product_registration(6);

}  // namespace

}  // namespace ladder
