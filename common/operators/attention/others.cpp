// The operator that ./ladder run without a chapter does not climb. Its program omits this file.
#include "common/operators/attention/operator.hpp"

namespace ladder {
namespace {

AttentionGradArgs gradient_sizes_of(const Struct& c) {
  AttentionGradArgs args;
  args.forward = sizes_of(c.as<AttentionCase>());
  return args;
}

void draw(Problem& problem) {
  problem = make_grad_problem(make_problem(problem.as<AttentionCase>()));
}

}  // namespace

template <>
Operator& operator_of<AttentionBackward>() {
  using Case = AttentionCase;
  using Args = AttentionGradArgs;
  static Operator op = with_case<AttentionBackward, AttentionSizes, Case, Args, Args,
                                 AttentionGradBf16Args, AttentionGradFp16Args>(attention_operator({
      .name = AttentionBackward::kName,
      .host = [](const Struct& c) { return Struct(gradient_sizes_of(c)); },
      .fma_count = [](const Struct& host) { return attention_fma_count(host.as<Args>()); },
      .truth = of_any(attention_gradients_truth),
      .draw = draw,
      .linear_in = {"d_o"},
      .derived = {"o", "lse"},
      .derive = take_forward_pass,
      .judged_fma = [](const Struct& c) { return judged_fma(gradient_sizes_of(c)); },
      .draws_with_work = true,  // the forward pass's outputs are inputs
      .sample = sample_by<AttentionGradProblem>,
  }));
  return op;
}

AttentionOutputs run(const Implementation& implementation, const AttentionProblem& problem) {
  return run_as<Attention>(implementation, problem);
}

AttentionGradients run_backward(const Implementation& implementation,
                                const AttentionGradProblem& problem) {
  return run_as<AttentionBackward>(implementation, problem);
}

namespace {

const OperatorRegistration attention_backward_registration(operator_of<AttentionBackward>(), 8);

}  // namespace

}  // namespace ladder
