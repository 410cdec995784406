// WKV, GLA and their gradients as operators.
#pragma once

#include <algorithm>
#include <string>

#include "common/core/on_device.hpp"
#include "common/core/shape.hpp"
#include "common/operators/judge.hpp"
#include "common/operators/sequences.hpp"
#include "common/operators/wkv/problem.hpp"

namespace ladder {

struct WkvSizes {
  std::int64_t B = 1, T = 1024, H = 32, K = 64, V = 64;

  template <typename Self, typename Visit>
  static void fields(Self& s, const Visit& visit) {
    visit("B", s.B, 1), visit("T", s.T, 1), visit("H", s.H, 1), visit("K", s.K, 1);
    visit("V", s.V, 1);
  }
};

template <Recurrence kRecurrence>
struct WkvOperator : SequenceOperator {
  using Sizes = WkvSizes;
  using Case = WkvCase;

  static Case make_case(const Sizes& s) {
    return {.recurrence = kRecurrence, .B = s.B, .T = s.T, .H = s.H, .K = s.K, .V = s.V};
  }
  // The case, as one of this operator.
  static Case own(Case c) {
    c.recurrence = kRecurrence;
    return c;
  }
  static void settle(Case& c, Shape& shape) {
    if (c.lengths.empty()) return;
    for (const std::int64_t length : c.lengths)
      require_at_least("a length", length, 0);
    c = packed(c, c.lengths);
    shape.set("B", c.B);
    shape.set("T", c.T);
  }
  static bool wants(const Case& c, const std::string& array) {
    if (array == "u" || array == "du") return c.recurrence == Recurrence::kWkv;
    if (array == "initial_state" || array == "d_initial_state") return c.initial_state;
    if (array == "final_state" || array == "d_final_state") return c.final_state;
    return array != "cu_seqlens" || !c.lengths.empty();
  }
  static double truth_bytes(const Case& c) { return bytes_of_walk(c.K, c.V, c.B * c.H); }
};

template <Recurrence kRecurrence>
struct WkvForward : WkvOperator<kRecurrence> {
  using Problem = WkvProblem;
  using Outputs = WkvOutputs;
  using Storages = Types<WkvArgs, WkvBf16Args, WkvBf16Fp32DecayArgs>;

  static Problem make_problem(const WkvCase& c) { return ladder::make_problem(c); }
  static const WkvCase& case_of(const Problem& problem) { return problem.wkv_case; }
  static WkvArgs args(const Problem& problem) { return problem.args(); }
  static WkvArgs sizes(const WkvCase& c) { return sizes_of(c); }
  static double fma_count(const WkvArgs& args) { return wkv_fma_count(args); }
  static Verdict judge(const Problem& problem, const Outputs& outputs, Arithmetic arithmetic) {
    return reference::judge(problem, outputs, arithmetic);
  }
  static Verdict judge_for_report(const Problem& problem, const Outputs& outputs,
                                  Arithmetic arithmetic) {
    return reference::judge(problem, outputs, arithmetic, reference::PlainLoop::kToo);
  }
};

template <Recurrence kRecurrence>
struct WkvGradient : WkvOperator<kRecurrence> {
  using Problem = WkvGradProblem;
  using Outputs = WkvGradients;
  using Storages = Types<WkvGradArgs, WkvGradBf16Args, WkvGradBf16Fp32DecayArgs>;

  static Problem make_problem(const WkvCase& c) { return make_grad_problem(c); }
  static const WkvCase& case_of(const Problem& problem) { return problem.forward.wkv_case; }
  static WkvGradArgs args(const Problem& problem) { return problem.args(); }
  static WkvGradArgs sizes(const WkvCase& c) {
    WkvGradArgs args;
    args.forward = sizes_of(c);
    return args;
  }
  static double fma_count(const WkvGradArgs& args) { return wkv_fma_count(args); }
  static Verdict judge(const Problem& problem, const Outputs& outputs, Arithmetic arithmetic) {
    return reference::judge(problem, outputs, arithmetic);
  }
  static Verdict judge_for_report(const Problem& problem, const Outputs& outputs,
                                  Arithmetic arithmetic) {
    return reference::judge(problem, outputs, arithmetic, reference::PlainLoop::kToo);
  }
};

struct Wkv : WkvForward<Recurrence::kWkv> {
  static constexpr const char* kName = "wkv";
};
struct Gla : WkvForward<Recurrence::kGla> {
  static constexpr const char* kName = "gla";
};
struct WkvBackward : WkvGradient<Recurrence::kWkv> {
  static constexpr const char* kName = "wkv_backward";
};
struct GlaBackward : WkvGradient<Recurrence::kGla> {
  static constexpr const char* kName = "gla_backward";
};

// Calls work.template operator()<Wkv>() or <Gla>(); the other one with <WkvBackward>() or <GlaBackward>().
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

// The same with the arguments of that precision: work.template operator()<Wkv, WkvBf16Args>().
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

// Each runs once, as run_as does; the problem's case says whether it is WKV or GLA.
WkvOutputs run(const Implementation& implementation, const WkvProblem& problem);
WkvGradients run_backward(const Implementation& implementation, const WkvGradProblem& problem);

}  // namespace ladder
