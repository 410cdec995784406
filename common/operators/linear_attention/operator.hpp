// Linear attention as an operator, and its causal form without feature map and normaliser under a name of its own.
#pragma once

#include <memory>
#include <vector>

#include "common/judge/sequences.hpp"
#include "common/operators/linear_attention/cases.hpp"

namespace ladder {

struct LinearAttention
    : JudgedOperator<LinearAttention, LinearAttentionSizes, LinearAttentionCase,
                     LinearAttentionInputs, LinearAttentionArgs, LinearAttentionArgs,
                     LinearAttentionBf16Args, LinearAttentionFp16Args>,
      SequenceOperator {
  static constexpr const char* kLinearIn[] = {"v"};
  static constexpr const char* kName = "linear_attention";
  static constexpr bool kTriedApart = true;  // edges.cpp and trials.cpp
  static constexpr bool kKnownApart = true;  // mistakes.cpp
  using Outputs = std::vector<float>;        // o

  static Case make_case(const Sizes& s) {
    return {.B = s.B, .T_q = s.T_q > 0 ? s.T_q : s.T, .T_k = s.T, .H = s.H, .K = s.K, .V = s.V};
  }
  static LinearAttentionArgs sizes(const Case& c) { return sizes_of(c); }
  static bool wants(const Case& c, const std::string& array) {
    return LinearAttentionInputs::wants(c, array);
  }
  static double fma_count(const LinearAttentionArgs& args) {
    return linear_attention_fma_count(args);
  }
  static double truth_bytes(const Case& c) { return bytes_of_walk(c.K, c.V, c.B * c.H); }

  static std::vector<Truth> truth(const Problem& problem, Arithmetic arithmetic);
  static Outputs plain(const Problem& problem, Arithmetic arithmetic);
  static Mistakes mistakes(const Problem& problem, const std::vector<Truth>& truth,
                           Arithmetic arithmetic);
  static void check_options(const Case& c, const Options& given) {
    require_both(given, "eps", c.normalize, "normalize");
  }
  static void check_values(const Problem& problem) {
    check_key_lengths(problem.array<std::int64_t>("key_lengths"), problem.drawn_case().T_k);
  }
  static SupportWords support_words();
  static std::shared_ptr<const Plan> own_plan(const Support& support);
  static std::vector<Case> table_cases(bool long_too);
  static std::vector<Case> random_cases(std::uint32_t seed);
  static Problem fuzz(Random& random);
  template <typename Args>
  static std::vector<BadInput<Args>> bad_inputs(const Support& support, DeviceKind where);
};

// A case of linear attention, and computed by its launchers.
struct CausalDotProduct : LinearAttention {
  static constexpr const char* kName = "causal_dot_product";
  using Key = LinearAttention;

  static Case make_case(const Sizes& s) { return own(LinearAttention::make_case(s)); }
  static Case own(Case c) {
    c.feature_map = FeatureMap::kIdentity;
    c.normalize = false;
    return c;
  }
};

std::vector<LinearAttentionCase> linear_attention_cases(const Support& support);

// Runs once, as run_as does.
std::vector<float> run(const Implementation& implementation, const LinearAttentionProblem& problem);

// Compiled once, in operator.cpp.
extern template Operator& operator_of<LinearAttention>();
extern template Operator& operator_of<CausalDotProduct>();

}  // namespace ladder
