// The judge for softmax attention (common/operators/attention/attention.hpp has the formulas and their sources).
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "common/operators/attention/problem.hpp"

namespace ladder::reference {

struct AttentionResult {
  std::vector<double> o;        // (B, T_q, H_q, D)
  std::vector<double> lse;      // (B, H_q, T_q)
  std::vector<double> largest;  // (B, H_q, T_q): of the scaled scores
};

// How many of its sequence's first keys each of the B * T_q queries sees: never fewer than the one before it.
using KeysSeen = std::vector<std::int64_t>;
KeysSeen keys_seen(const AttentionProblem& problem);
// Under another mask: so many by query l of a sequence.
KeysSeen keys_seen(
    const AttentionProblem& problem,
    const std::function<std::int64_t(const AttentionProblem::Sequence&, std::int64_t l)>& of_query);

// By the formula: the largest of a query's scores, then the sum. Under the problem's own mask, or another one.
AttentionResult attention_closed_sum(const AttentionProblem& problem);
AttentionResult attention_closed_sum(const AttentionProblem& problem, const KeysSeen& seen);

// Of the exact o and lse: those that the problem holds, which were rounded, are not looked at.
BasicAttentionGradients<double> attention_gradients(const AttentionGradProblem& problem);
// Of somebody's forward pass, under somebody's mask.
BasicAttentionGradients<double> attention_gradients(const AttentionGradProblem& problem,
                                                    const AttentionResult& forward,
                                                    const KeysSeen& seen);

// The root of the sum of each element's squared terms: rounding errors are relative to these. A score's error is an error of its
// weight; it is `score_roundoff` of the score's terms, where a rounding of anything else that is multiplied is 1. Of lse: the error
// of the sum that it stands for. With few keys, or where one key has all the weight, nothing is left of d_o . v - delta but terms.
AttentionResult attention_terms(const AttentionProblem& problem, double score_roundoff);
struct ScoreRoundoff {
  double dv = 0;  // of the weights' gradient
  double ds = 0;  // of those of the scores, dq and dk
};
BasicAttentionGradients<double> attention_gradient_terms(const AttentionGradProblem& problem,
                                                         const ScoreRoundoff& roundoff);

// With the exact o and lse, rounded to what they are stored in.
AttentionGradProblem make_attention_grad_problem(AttentionProblem forward);

}  // namespace ladder::reference
