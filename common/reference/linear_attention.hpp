// The judge for linear attention (common/core/linear_attention.hpp has the formula and its source).
#pragma once

#include <vector>

#include "common/core/problem.hpp"

namespace ladder::reference {

// o (B, T_q, H, V), by running sums over the keys.
std::vector<double> linear_attention_recurrence(const LinearAttentionProblem& problem);

// The same as (phi(Q) phi(K)^T . M) V with the mask M. O(T_q * T_k).
std::vector<double> linear_attention_closed_sum(const LinearAttentionProblem& problem);

}  // namespace ladder::reference
