// What is rounded on the way to the results of the operators in this folder, counted: see common/judge/limits.hpp.
#pragma once

#include "common/core/registry.hpp"
#include "common/judge/limits.hpp"
#include "common/operators/attention/problem.hpp"
#include "common/operators/linear_attention/problem.hpp"
#include "common/operators/wkv/problem.hpp"

namespace ladder::reference {

// Of what tensors are stored as.
double unit_roundoff(Precision precision);

// Of a result that is stored as tensors of that precision are.
Roundings stored_in(Precision precision);

enum class WkvOutput { kO, kFinalState, kDq, kDk, kDv, kDLogW, kDu, kDInitialState };

// The steps that a term outlives, in the channel where they are most: each rounds what is left of it, w of it a step.
struct Memory {
  double roundings = 1;  // sum of w^2d: of roundings that know nothing of each other
  double alike = 0;      // sum of w^d: of a decay that is the same in every step, but not 1
};

// Walks over all of log_w.
Memory remembered(const WkvProblem& problem);

// `memory`: remembered(problem), for all outputs of the problem.
Roundings wkv_roundings(const WkvCase& c, const Memory& memory, WkvOutput output,
                        Arithmetic arithmetic);

Roundings linear_attention_roundings(const LinearAttentionCase& c, Arithmetic arithmetic);

enum class AttentionOutput { kO, kLse, kDq, kDk, kDv };

Roundings attention_roundings(const AttentionCase& c, AttentionOutput output,
                              Arithmetic arithmetic);

// What attention_terms asks for: how much wrong a score is, relatively, where what else is rounded is wrong by 1.
double score_roundoff(const AttentionCase& c, const Roundings& roundings);

}  // namespace ladder::reference
