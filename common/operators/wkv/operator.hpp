// WKV, GLA and their gradients. The case selects the recurrence, so either operator judges both.
#pragma once

#include <algorithm>
#include <iterator>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "common/judge/sequences.hpp"
#include "common/judge/typed.hpp"
#include "common/operators/wkv/mistakes.hpp"

namespace ladder {

struct Wkv {
  static constexpr const char* kName = "wkv";
  static constexpr Recurrence kRecurrence = Recurrence::kWkv;
  using Case = WkvCase;
  using Problem = WkvProblem;
  using Outputs = WkvOutputs;
  using Storages = Types<WkvArgs, WkvBf16Args, WkvBf16Fp32DecayArgs, WkvFp16Args>;
};
struct Gla : Wkv {
  static constexpr const char* kName = "gla";
  static constexpr Recurrence kRecurrence = Recurrence::kGla;

  static WkvCase own(WkvCase c) {
    c.recurrence = kRecurrence;
    return c;
  }
};
struct WkvBackward {
  static constexpr const char* kName = "wkv_backward";
  static constexpr Recurrence kRecurrence = Recurrence::kWkv;
  using Case = WkvCase;
  using Problem = WkvGradProblem;
  using Outputs = WkvGradients;
  using Storages = Types<WkvGradArgs, WkvGradBf16Args, WkvGradBf16Fp32DecayArgs>;
};
struct GlaBackward : WkvBackward {
  static constexpr const char* kName = "gla_backward";
  static constexpr Recurrence kRecurrence = Recurrence::kGla;

  static WkvCase own(const WkvCase& c) { return Gla::own(c); }
};

template <>
Operator& operator_of<Wkv>();
template <>
Operator& operator_of<Gla>();
template <>
Operator& operator_of<WkvBackward>();
template <>
Operator& operator_of<GlaBackward>();

// Set the fields that all four share, and both forward passes. For operator.cpp and others.cpp.
Operator wkv_operator(Recurrence recurrence, Operator op);
template <typename Op>
Operator wkv_forward(Operator op);

// For tests (edges.cpp). Programs without tests do not link these.
template <typename Op>
std::shared_ptr<const Plan> wkv_plan(const Support& support);
SupportWords wkv_support_words();
template <typename Args>
std::vector<BadInput<Args>> wkv_bad_inputs(const Support& support, Recurrence recurrence);

// Pairwise or drawn cases, and the cases that the support names.
std::vector<WkvCase> wkv_cases(const Support& support, Recurrence recurrence = Recurrence::kWkv);

// Call work.template operator()<Wkv>() or <Gla>(), or <WkvBackward>() or <GlaBackward>().
template <typename Work>
auto with_forward(Recurrence recurrence, const Work& work) {
  if (recurrence == Recurrence::kGla) return work.template operator()<Gla>();
  return work.template operator()<Wkv>();
}
template <typename Work>
auto with_backward(Recurrence recurrence, const Work& work) {
  if (recurrence == Recurrence::kGla) return work.template operator()<GlaBackward>();
  return work.template operator()<WkvBackward>();
}

// The same with the precision's arguments, such as work.template operator()<Wkv, WkvBf16Args>().
template <typename Work>
auto with_forward(Recurrence recurrence, Precision precision, const Work& work) {
  return with_forward(recurrence, [&]<typename Op>() {
    return with_storage<Op>(to_string(precision),
                            [&]<typename Args>() { return work.template operator()<Op, Args>(); });
  });
}
template <typename Work>
auto with_backward(Recurrence recurrence, Precision precision, const Work& work) {
  return with_backward(recurrence, [&]<typename Op>() {
    return with_storage<Op>(to_string(precision),
                            [&]<typename Args>() { return work.template operator()<Op, Args>(); });
  });
}

// Run the implementation once, as run_as does. The problem's case selects WKV or GLA.
WkvOutputs run(const Implementation& implementation, const WkvProblem& problem);
WkvGradients run_backward(const Implementation& implementation, const WkvGradProblem& problem);

}  // namespace ladder
