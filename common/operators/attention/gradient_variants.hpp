// The gradients of softmax attention as they are computed wrongly: one loop with switches, and their changes
// (common/operators/variants.hpp).
#pragma once

#include <cmath>

#include "common/operators/attention/variants.hpp"

namespace ladder::reference {

// As they stand here: right.
struct AttentionGradSwitches {
  Mask mask = Mask::kOwn;
  double delta = 1;  // times the sum of d_o o
  bool scale_in_scores = true, scale_in_dq = true, scale_in_dk = true;
  double (*weight)(double score, double lse) = [](double score, double lse) {
    return std::exp(score - lse);
  };
  bool weights_in_ds = true, weights_in_dv = true;
  bool d_o_in_dv = true;  // or v
  enum class Group {
    kAll,
    kFirst,
    kLast
  } heads = Group::kAll;  // whose gradients dk and dv are summed over
  AttentionSwitches::KeyHead key_head = AttentionSwitches::KeyHead::kOwn;
};

BasicAttentionGradients<double> attention_gradient_loop(const AttentionGradProblem& problem,
                                                        const AttentionGradSwitches& s);

// Those that a case can show.
Variants<AttentionGradSwitches> attention_gradient_variants(const AttentionCase& c);

}  // namespace ladder::reference
