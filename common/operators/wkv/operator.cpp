#include "common/operators/wkv/operator.hpp"

#include "common/core/operator.hpp"

namespace ladder {

WkvOutputs run(const Implementation& implementation, const WkvProblem& problem) {
  return with_forward(problem.wkv_case.recurrence,
                      [&]<typename Op>() { return run_as<Op>(implementation, problem); });
}

WkvGradients run_backward(const Implementation& implementation, const WkvGradProblem& problem) {
  return with_backward(problem.forward.wkv_case.recurrence,
                       [&]<typename Op>() { return run_as<Op>(implementation, problem); });
}

namespace {

const OperatorRegistration<Wkv> wkv_registration(1);
const OperatorRegistration<Gla> gla_registration(2);
const OperatorRegistration<WkvBackward> wkv_backward_registration(3);
const OperatorRegistration<GlaBackward> gla_backward_registration(4);

}  // namespace

}  // namespace ladder
