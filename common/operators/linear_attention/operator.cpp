#include "common/operators/linear_attention/operator.hpp"

namespace ladder {

std::vector<float> run(const Implementation& implementation,
                       const LinearAttentionProblem& problem) {
  return run_as<LinearAttention>(implementation, problem);
}

}  // namespace ladder
