// Truth of linear attention (formula: common/operators/linear_attention/linear_attention.hpp).
#pragma once

#include <vector>

#include "common/operators/linear_attention/cases.hpp"

namespace ladder {

// o (B, T_q, H, V), by running sums over the keys.
std::vector<double> linear_attention_recurrence(const LinearAttentionProblem& problem);

// Root of the sum of each element's squared terms, divided by the normaliser. A term is a product
// phi(q) phi(k) v, or, if phi is positive and no score cancels, a score times v.
std::vector<double> linear_attention_terms(const LinearAttentionProblem& problem);

// o as (phi(Q) phi(K)^T . M) V with the mask M. O(T_q * T_k).
std::vector<double> linear_attention_closed_sum(const LinearAttentionProblem& problem);

}  // namespace ladder
