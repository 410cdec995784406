// What is true of linear attention's result (common/operators/linear_attention/linear_attention.hpp has the formula and its source).
#pragma once

#include <vector>

#include "common/operators/linear_attention/cases.hpp"

namespace ladder {

// o (B, T_q, H, V), by running sums over the keys.
std::vector<double> linear_attention_recurrence(const LinearAttentionProblem& problem);

// For each element the root of the sum of its squared terms, divided by the normaliser: of the products phi(q) phi(k) v, and where phi
// is positive, so that no score cancels, of the products of a score and v.
std::vector<double> linear_attention_terms(const LinearAttentionProblem& problem);

// o as (phi(Q) phi(K)^T . M) V with the mask M. O(T_q * T_k).
std::vector<double> linear_attention_closed_sum(const LinearAttentionProblem& problem);

}  // namespace ladder
