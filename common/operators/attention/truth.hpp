// Truth of softmax attention. Formulas and sources: common/operators/attention/attention.hpp.
#pragma once

#include <cstdint>
#include <vector>

#include "common/operators/attention/cases.hpp"

namespace ladder {

template <typename Number>
struct BasicAttentionResult {
  std::vector<Number> o;        // (B, T_q, H_q, D_v)
  std::vector<Number> lse;      // (B, H_q, T_q)
  std::vector<Number> largest;  // (B, H_q, T_q), of the scaled scores
};

using AttentionResult = BasicAttentionResult<double>;

// Two passes over a query's scores: the maximum, then the sum.
AttentionResult attention_closed_sum(const AttentionArgs& a);

// Computed from exact o and lse. The arguments' own are rounded and not used.
BasicAttentionGradients<double> attention_gradients(const AttentionGradArgs& a);

// The truth of each output, with the root of the sum of each element's squared terms.
std::vector<Truth> attention_truth(const AttentionProblem& problem, Arithmetic arithmetic);
std::vector<Truth> attention_gradients_truth(const AttentionGradProblem& problem,
                                             Arithmetic arithmetic);

}  // namespace ladder
