#include "common/operators/linear_attention/operator.hpp"

namespace ladder {

std::vector<float> run(const Implementation& implementation,
                       const LinearAttentionProblem& problem) {
  return run_as<LinearAttention>(implementation, problem);
}

template class OperatorOf<LinearAttention>;
template class OperatorOf<CausalDotProduct>;

namespace {

const OperatorRegistration<LinearAttention> linear_attention_registration(5);
const OperatorRegistration<CausalDotProduct> causal_dot_product_registration(6);

}  // namespace

}  // namespace ladder
