// Attention whose check would take longer than anybody waits: its work grows with the square of T. A part is judged instead, and
// all of it must be finite.
#pragma once

#include "common/operators/judge.hpp"

namespace ladder::reference {

// Problems with more multiply-adds than this are judged in part.
inline constexpr double kMostJudgedWhole = 4e9;
// Of those a part is judged: about so many queries of a forward pass, so many heads of a backward pass.
inline constexpr double kSampledQueries = 9 * 160, kSampledHeads = 16;

// Of o and lse: of the first, a middle and the last batch some successive queries each, in all heads. Small problems as judge does.
Verdict judge_sample(const AttentionProblem& problem, const AttentionOutputs& outputs,
                     Arithmetic arithmetic, double most_judged_whole = kMostJudgedWhole);
// Of the gradients: some heads of all queries and keys.
Verdict judge_sample(const AttentionGradProblem& problem, const AttentionGradients& gradients,
                     Arithmetic arithmetic, double most_judged_whole = kMostJudgedWhole);

}  // namespace ladder::reference
