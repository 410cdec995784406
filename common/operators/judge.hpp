// The verdict on a result: written, finite, and within the limits of its class; with a diagnosis when it is wrong.
#pragma once

#include <string>
#include <vector>

#include "common/core/registry.hpp"
#include "common/judge/judging.hpp"
#include "common/operators/attention/problem.hpp"
#include "common/operators/linear_attention/problem.hpp"
#include "common/operators/wkv/problem.hpp"

namespace ladder::reference {

enum class PlainLoop { kNotAskedFor, kToo };

// What a wrong result is compared with: what one misconception gives, or on a case that is made for it two of them together.
enum class Search { kOne, kTwo };

// Judges o and, where the case asks for it, the final state.
Verdict judge(const WkvProblem& problem, const WkvOutputs& outputs,
              Arithmetic arithmetic = Arithmetic::kFp32,
              PlainLoop plain_loop = PlainLoop::kNotAskedFor, Search search = Search::kOne);
// Judges each gradient.
Verdict judge(const WkvGradProblem& problem, const WkvGradients& gradients,
              Arithmetic arithmetic = Arithmetic::kFp32,
              PlainLoop plain_loop = PlainLoop::kNotAskedFor, Search search = Search::kOne);
Verdict judge(const LinearAttentionProblem& problem, const std::vector<float>& o,
              Arithmetic arithmetic = Arithmetic::kFp32,
              PlainLoop plain_loop = PlainLoop::kNotAskedFor, Search search = Search::kOne);

// Judges o and lse. A query that sees no key must have o = 0 and lse = -inf, exactly.
Verdict judge(const AttentionProblem& problem, const AttentionOutputs& outputs,
              Arithmetic arithmetic = Arithmetic::kFp32,
              PlainLoop plain_loop = PlainLoop::kNotAskedFor, Search search = Search::kOne);
// Judges each gradient. Those of a query that sees no key, and of a key that no query sees, must be 0, exactly.
Verdict judge(const AttentionGradProblem& problem, const AttentionGradients& gradients,
              Arithmetic arithmetic = Arithmetic::kFp32,
              PlainLoop plain_loop = PlainLoop::kNotAskedFor, Search search = Search::kOne);

}  // namespace ladder::reference
