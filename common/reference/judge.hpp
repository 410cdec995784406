// The verdict on a result: written, finite, and within a limit derived from a yardstick; with a diagnosis when it is wrong.
#pragma once

#include <string>
#include <vector>

#include "common/core/device_problem.hpp"
#include "common/core/error_metrics.hpp"
#include "common/core/problem.hpp"

namespace ladder::reference {

// A result may have twice the error of the yardstick, a plain loop of the same precision and arithmetic, plus this much.
inline constexpr double kFewUlp = 8 * 1.1920929e-7;

struct Verdict {
  bool right = false;
  RelativeError
      error;  // of o, or of the array that is wrong; of gradients the one nearest to its limit
  RelativeError yardstick;  // what a plain loop makes of the same array
  std::string
      message;  // empty if right; otherwise "WRONG RESULT ...": what, where, and the misconception recognised
};

// Judges o and, where the case asks for it, the final state.
Verdict judge(const WkvProblem& problem, const WkvOutputs& outputs,
              Arithmetic arithmetic = Arithmetic::kFp32);
// Judges each gradient.
Verdict judge(const WkvGradProblem& problem, const WkvGradients& gradients,
              Arithmetic arithmetic = Arithmetic::kFp32);
Verdict judge(const LinearAttentionProblem& problem, const std::vector<float>& o,
              Arithmetic arithmetic = Arithmetic::kFp32);

// Judges o and lse. A query that sees no key must have o = 0 and lse = -inf, exactly.
Verdict judge(const AttentionProblem& problem, const AttentionOutputs& outputs,
              Arithmetic arithmetic = Arithmetic::kFp32);
// Judges each gradient, by errors relative to the sizes of the terms it is a sum of. Those of a query that sees no key, and of a key that no query sees, must be 0, exactly.
Verdict judge(const AttentionGradProblem& problem, const AttentionGradients& gradients,
              Arithmetic arithmetic = Arithmetic::kFp32);

}  // namespace ladder::reference
