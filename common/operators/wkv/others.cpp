// The operators that ./ladder run does not climb, and where all find their mistakes: its first program is built without them.
#include "common/operators/wkv/operator.hpp"

namespace ladder {

std::vector<std::pair<std::string, Shape>> Gla::named_shapes() {
  return {{"gla-1.3b", {{"B", 1}, {"T", 4096}, {"H", 4}, {"K", 256}, {"V", 512}}}};
}

WkvOutputs run(const Implementation& implementation, const WkvProblem& problem) {
  return with_forward(problem.drawn_case().recurrence,
                      [&]<typename Op>() { return run_as<Op>(implementation, problem); });
}

WkvGradients run_backward(const Implementation& implementation, const WkvGradProblem& problem) {
  return with_backward(problem.drawn_case().recurrence,
                       [&]<typename Op>() { return run_as<Op>(implementation, problem); });
}

template Operator& operator_of<Gla>();
template Operator& operator_of<WkvBackward>();
template Operator& operator_of<GlaBackward>();

namespace {

const OperatorRegistration<Gla> gla_registration(2);
const OperatorRegistration<WkvBackward> wkv_backward_registration(3);
const OperatorRegistration<GlaBackward> gla_backward_registration(4);

const KnownRegistration<Wkv> known_of_wkv;
const KnownRegistration<Gla> known_of_gla;
const KnownRegistration<WkvBackward> known_of_wkv_backward;
const KnownRegistration<GlaBackward> known_of_gla_backward;

}  // namespace

}  // namespace ladder
