// What is right in softmax attention (common/operators/attention/attention.hpp has the formulas and their sources).
#pragma once

#include <cstdint>
#include <vector>

#include "common/operators/attention/cases.hpp"

namespace ladder {

template <typename Number>
struct BasicAttentionResult {
  std::vector<Number> o;        // (B, T_q, H_q, D_v)
  std::vector<Number> lse;      // (B, H_q, T_q)
  std::vector<Number> largest;  // (B, H_q, T_q): of the scaled scores
};

using AttentionResult = BasicAttentionResult<double>;

// By the formula: the largest of a query's scores, then the sum.
AttentionResult attention_closed_sum(const AttentionArgs& a);

// Made from the exact o and lse: those that the arguments hold, which were rounded, are not looked at.
BasicAttentionGradients<double> attention_gradients(const AttentionGradArgs& a);

// What must be true of each output, with the root of the sum of each element's squared terms.
std::vector<Truth> attention_truth(const AttentionProblem& problem, Arithmetic arithmetic);
std::vector<Truth> attention_gradients_truth(const AttentionGradProblem& problem,
                                             Arithmetic arithmetic);

}  // namespace ladder
