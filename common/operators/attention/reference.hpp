// The judge for softmax attention (common/operators/attention/attention.hpp has the formulas and their sources).
#pragma once

#include <cstdint>
#include <vector>

#include "common/operators/attention/problem.hpp"

namespace ladder::reference {

struct AttentionResult {
  std::vector<double> o;        // (B, T_q, H_q, D)
  std::vector<double> lse;      // (B, H_q, T_q)
  std::vector<double> largest;  // (B, H_q, T_q): of the scaled scores
};

// What a kernel may get wrong on its way through the keys. As it stands here: nothing.
struct AttentionFaults {
  enum class Mask { kAsAsked, kNone, kCausal, kFirstWithFirst };  // query 0 sees key 0, and so on

  Mask mask = Mask::kAsAsked;
  bool key_lengths_ignored = false;
  std::int64_t keys_lost = 0;  // the last keys of each sequence
  // What follows only means something to keys that are taken a tile at a time; not to the gradients.
  std::int64_t key_tile = 1;
  bool whole_tiles_only = false;  // the keys behind the last whole tile are lost
  // What a query does not see of the tiles that it and its neighbours go through counts in the sum, as keys of zeros where there
  // are no more keys.
  bool masked_keys_count = false;
  std::int64_t query_tile = 1;
  bool maximum_carried = true;  // or each tile has its own
  bool o_rescaled = true, sum_rescaled = true;
  bool last_tile_first = false;  // no fault, but another order to make one in
  // Of the gradients.
  bool delta_forgotten = false;
  bool lse_in_base_2 = false;  // taken for one
};

// By the formula: the largest of a query's scores, then the sum.
AttentionResult attention_closed_sum(const AttentionProblem& problem);

// The same in one walk over the keys, with a running maximum, sum and mean: the "online softmax".
AttentionResult attention_recurrence(const AttentionProblem& problem,
                                     const AttentionFaults& faults = {});

// Of the exact o and lse: those that the problem holds, which were rounded, are not looked at.
BasicAttentionGradients<double> attention_gradients(const AttentionGradProblem& problem,
                                                    const AttentionFaults& faults = {});

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
