#include "common/operators/wkv/operator.hpp"

namespace ladder {

std::vector<std::pair<std::string, Shape>> Wkv::named_shapes() {
  return {{"rwkv6-1.6b", {{"B", 1}, {"T", 1024}, {"H", 32}, {"K", 64}, {"V", 64}}},
          {"rwkv6-7b", {{"B", 1}, {"T", 1024}, {"H", 64}, {"K", 64}, {"V", 64}}},
          {"profile", {{"B", 1}, {"T", 54}, {"H", 32}, {"K", 64}, {"V", 64}}},
          {"training", {{"B", 8}, {"T", 4096}, {"H", 32}, {"K", 64}, {"V", 64}}}};
}

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

template class OperatorOf<Wkv>;
template class OperatorOf<Gla>;
template class OperatorOf<WkvBackward>;
template class OperatorOf<GlaBackward>;

namespace {

const OperatorRegistration<Wkv> wkv_registration(1);
const OperatorRegistration<Gla> gla_registration(2);
const OperatorRegistration<WkvBackward> wkv_backward_registration(3);
const OperatorRegistration<GlaBackward> gla_backward_registration(4);

}  // namespace

}  // namespace ladder
