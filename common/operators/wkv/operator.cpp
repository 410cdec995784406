#include "common/operators/wkv/operator.hpp"

namespace ladder {

WkvOutputs run(const Implementation& implementation, const WkvProblem& problem) {
  return with_forward(problem.wkv_case.recurrence,
                      [&]<typename Op>() { return run_as<Op>(implementation, problem); });
}

WkvGradients run_backward(const Implementation& implementation, const WkvGradProblem& problem) {
  return with_backward(problem.forward.wkv_case.recurrence,
                       [&]<typename Op>() { return run_as<Op>(implementation, problem); });
}

}  // namespace ladder
