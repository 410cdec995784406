// WKV, GLA and their gradients as operators. The case says which of the recurrences it is, so that either operator judges both.
#pragma once

#include <algorithm>
#include <iterator>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "common/judge/sequences.hpp"
#include "common/judge/stored.hpp"
#include "common/operators/wkv/mistakes.hpp"

namespace ladder {

// Its tests, and what its launchers must refuse besides what the lists tell (edges.cpp).
template <typename Op>
std::shared_ptr<const Plan> wkv_plan(const Support& support);
SupportWords wkv_support_words();
template <typename Args>
std::vector<BadInput<Args>> wkv_bad_inputs(const Support& support, Recurrence recurrence);

// Cases and problems for who looks at all operators (trials.cpp).
std::vector<WkvCase> wkv_table_cases(Recurrence recurrence, bool gradients, bool long_too);
std::vector<WkvCase> wkv_random_cases(Recurrence recurrence, bool gradients, std::uint32_t seed);
template <typename Problem>
Problem wkv_fuzz(Random& random, Recurrence recurrence);

template <typename Op, Recurrence kOf, typename Inputs, typename... StoredArgs>
struct WkvOperator
    : JudgedOperator<Op, WkvSizes, WkvCase, Inputs, typename Inputs::Host, StoredArgs...>,
      SequenceOperator {
  static constexpr bool kTriedApart = true;  // edges.cpp and trials.cpp
  static constexpr bool kKnownApart = true;  // others.cpp
  using Problem = Drawn<Inputs>;
  using Host = typename Inputs::Host;
  static constexpr Recurrence kRecurrence = kOf;
  static constexpr bool kIsGradient = std::is_same_v<Inputs, WkvGradInputs>;
  static constexpr const char* kLinearIn[] = {
      "q", "k", "v", "u", "d_o", "initial_state", "d_final_state"};

  static WkvCase make_case(const WkvSizes& s) {
    return {.recurrence = kOf, .B = s.B, .T = s.T, .H = s.H, .K = s.K, .V = s.V};
  }
  // The case, as one of this operator.
  static WkvCase own(WkvCase c) {
    c.recurrence = kOf;
    return c;
  }
  static void settle(WkvCase& c, Shape& shape) {
    if (c.lengths.empty()) return;
    for (const std::int64_t length : c.lengths)
      require_at_least("a length", length, 0);
    c = packed(c, c.lengths);
    shape.set("B", c.B);
    shape.set("T", c.T);
  }
  static Host sizes(const WkvCase& c) { return Inputs::sizes(c); }
  static bool wants(const WkvCase& c, const std::string& array) { return Inputs::wants(c, array); }
  static double fma_count(const Host& args) { return wkv_fma_count(args); }
  static double truth_bytes(const WkvCase& c) { return bytes_of_walk(c.K, c.V, c.B * c.H); }

  static std::vector<Truth> truth(const Problem& problem, Arithmetic arithmetic) {
    return wkv_truth(problem, arithmetic);
  }
  static auto plain(const Problem& problem, Arithmetic arithmetic) {
    return stored<Op>(problem, wkv_plain(problem, arithmetic));
  }
  static Mistakes mistakes(const Problem& problem, const std::vector<Truth>& truth,
                           Arithmetic arithmetic) {
    return wkv_mistakes(problem, truth, arithmetic);
  }
  static void check_options(const WkvCase& c, const Options& given) {
    require_both(given, "fixed_log_w", c.decay == Decay::kFixed, "decay=fixed");
  }
  static void check_values(const Problem& problem) {
    const WkvCase& c = problem.drawn_case();
    const std::vector<float>& log_w = problem["log_w"];
    check_log_w(log_w.data(), std::ssize(log_w));
    check_ends("cu_seqlens", problem.template array<std::int64_t>("cu_seqlens"), c.B, c.T);
  }
  static SupportWords support_words() { return wkv_support_words(); }
  static std::shared_ptr<const Plan> own_plan(const Support& support) {
    return wkv_plan<Op>(support);
  }
  template <typename Args>
  static std::vector<BadInput<Args>> bad_inputs(const Support& support, DeviceKind) {
    return wkv_bad_inputs<Args>(support, kOf);
  }

  static std::vector<WkvCase> table_cases(bool long_too) {
    return wkv_table_cases(kOf, kIsGradient, long_too);
  }
  static std::vector<WkvCase> random_cases(std::uint32_t seed) {
    return wkv_random_cases(kOf, kIsGradient, seed);
  }
  static Problem fuzz(Random& random) { return wkv_fuzz<Problem>(random, kOf); }
  // The sequence that a step of a pack belongs to.
  static void settle_belonging(const Problem& problem, const std::string&, const std::string& axis,
                               std::int64_t index, Belonging& belonging) {
    const auto& ends = problem.template array<std::int64_t>("cu_seqlens");
    if (axis != "t" || ends.empty()) return;
    belonging.sequence = std::upper_bound(ends.begin(), ends.end(), index) - ends.begin() - 1;
  }
};

template <typename Op, Recurrence kOf>
struct WkvForward
    : WkvOperator<Op, kOf, WkvInputs, WkvArgs, WkvBf16Args, WkvBf16Fp32DecayArgs, WkvFp16Args> {
  using Outputs = WkvOutputs;
  static constexpr bool kReportsFirst = true;
};
template <typename Op, Recurrence kOf>
struct WkvGradient
    : WkvOperator<Op, kOf, WkvGradInputs, WkvGradArgs, WkvGradBf16Args, WkvGradBf16Fp32DecayArgs> {
  using Outputs = WkvGradients;
};

struct Wkv : WkvForward<Wkv, Recurrence::kWkv> {
  static constexpr const char* kName = "wkv";
  static constexpr const char* kClimbed[] = {"fp32", "bf16"};
  static std::vector<std::pair<std::string, Shape>> named_shapes();
};
struct Gla : WkvForward<Gla, Recurrence::kGla> {
  static constexpr const char* kName = "gla";
  static std::vector<std::pair<std::string, Shape>> named_shapes();
};
struct WkvBackward : WkvGradient<WkvBackward, Recurrence::kWkv> {
  static constexpr const char* kName = "wkv_backward";
};
struct GlaBackward : WkvGradient<GlaBackward, Recurrence::kGla> {
  static constexpr const char* kName = "gla_backward";
};

// Pairwise, or those of a draw; and those that the support names besides.
std::vector<WkvCase> wkv_cases(const Support& support, Recurrence recurrence = Recurrence::kWkv);

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

// Compiled once, in operator.cpp and others.cpp.
extern template Operator& operator_of<Wkv>();
extern template Operator& operator_of<Gla>();
extern template Operator& operator_of<WkvBackward>();
extern template Operator& operator_of<GlaBackward>();

}  // namespace ladder
