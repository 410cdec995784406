// Omitted from ./ladder run without a chapter: operators that it does not climb, and all mistakes.
#include "common/operators/wkv/operator.hpp"

namespace ladder {
namespace {

template <typename Op>
Operator wkv_backward() {
  return with_case<Op, WkvSizes, WkvCase, WkvGradArgs, WkvGradArgs, WkvGradBf16Args,
                   WkvGradBf16Fp32DecayArgs>(wkv_operator(
      Op::kRecurrence,
      {
          .name = Op::kName,
          .host =
              [](const Struct& c) {
                return Struct(WkvGradArgs{.forward = sizes_of(c.as<WkvCase>())});
              },
          .fma_count = [](const Struct& host) { return wkv_fma_count(host.as<WkvGradArgs>()); },
          .truth = of_any(wkv_gradients_truth),
          .draw = draw_wkv_gradients,
      }));
}

}  // namespace

template <>
Operator& operator_of<Gla>() {
  static Operator op = wkv_forward<Gla>({
      .name = Gla::kName,
      .named_shapes = {{"gla-1.3b", {{"B", 1}, {"T", 4096}, {"H", 4}, {"K", 256}, {"V", 512}}}},
  });
  return op;
}

template <>
Operator& operator_of<WkvBackward>() {
  static Operator op = wkv_backward<WkvBackward>();
  return op;
}

template <>
Operator& operator_of<GlaBackward>() {
  static Operator op = wkv_backward<GlaBackward>();
  return op;
}

WkvOutputs run(const Implementation& implementation, const WkvProblem& problem) {
  return run_as<Wkv>(implementation, problem);
}

WkvGradients run_backward(const Implementation& implementation, const WkvGradProblem& problem) {
  return run_as<WkvBackward>(implementation, problem);
}

namespace {

const OperatorRegistration gla_registration(operator_of<Gla>(), 2);
const OperatorRegistration wkv_backward_registration(operator_of<WkvBackward>(), 3);
const OperatorRegistration gla_backward_registration(operator_of<GlaBackward>(), 4);

[[maybe_unused]] const bool known = [] {
  for (Operator* op : {&operator_of<Wkv>(), &operator_of<Gla>()}) {
    op->mistakes = mistakes_by(wkv_mistakes);
    op->plain = of_any(wkv_plain);
  }
  for (Operator* op : {&operator_of<WkvBackward>(), &operator_of<GlaBackward>()}) {
    op->mistakes = mistakes_by(wkv_gradient_mistakes);
    op->plain = of_any(wkv_gradients_plain);
  }
  return true;
}();

}  // namespace

}  // namespace ladder
