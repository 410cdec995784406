// The verdict on a result: written, finite, and within a limit derived from a yardstick; with a diagnosis when it is wrong.
#pragma once

#include <string>
#include <vector>

#include "common/core/device_problem.hpp"
#include "common/core/error_metrics.hpp"
#include "common/core/problem.hpp"

namespace ladder::reference {

// A result may have twice the error of the yardstick, a plain loop of the same precision, plus this much.
inline constexpr double kFewUlp = 8 * 1.1920929e-7;

struct Verdict {
  bool right = false;
  RelativeError error;      // of o, or of final_state where that is what is wrong
  RelativeError yardstick;  // what a plain fp32 loop makes of the same problem
  std::string
      message;  // empty if right; otherwise "WRONG RESULT ...": what, where, and the misconception recognised
};

// Judges o and, where the case asks for it, the final state.
Verdict judge(const WkvProblem& problem, const WkvOutputs& outputs);
Verdict judge(const LinearAttentionProblem& problem, const std::vector<float>& o);

}  // namespace ladder::reference
