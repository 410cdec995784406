// Linear attention, and its causal form without feature map and normaliser, as two operators.
#pragma once

#include <memory>
#include <vector>

#include "common/judge/sequences.hpp"
#include "common/operators/linear_attention/cases.hpp"

namespace ladder {

struct LinearAttention {
  static constexpr const char* kName = "linear_attention";
  using Case = LinearAttentionCase;
  using Problem = LinearAttentionProblem;
  using Outputs = std::vector<float>;  // o
  using Storages = Types<LinearAttentionArgs, LinearAttentionBf16Args, LinearAttentionFp16Args>;
};

// A special case of linear attention, computed by its launchers.
struct CausalDotProduct : LinearAttention {
  static constexpr const char* kName = "causal_dot_product";
  using Key = LinearAttention;

  static Case make_case(const LinearAttentionSizes& sizes);
  static Case own(Case c) {
    c.feature_map = FeatureMap::kIdentity;
    c.normalize = false;
    return c;
  }
};

template <>
Operator& operator_of<LinearAttention>();
template <>
Operator& operator_of<CausalDotProduct>();

std::vector<Truth> linear_attention_truth(const LinearAttentionProblem& problem,
                                          Arithmetic arithmetic);

// For tests (edges.cpp, trials.cpp). Other programs link neither these nor mistakes.cpp.
std::vector<LinearAttentionCase> linear_attention_cases(const Support& support);
SupportWords linear_attention_support_words();
std::shared_ptr<const Plan> linear_attention_plan(const Support& support);
template <typename Args>
std::vector<BadInput<Args>> linear_attention_bad_inputs(const Support& support, DeviceKind where);

// Runs the implementation once, as run_as does.
std::vector<float> run(const Implementation& implementation, const LinearAttentionProblem& problem);

}  // namespace ladder
