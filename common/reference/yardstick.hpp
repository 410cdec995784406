// The yardstick: how large an error an honest plain loop in fp32 makes on a problem. Sums run in order, one term after
// the other; nothing is clever, so that a kernel is measured against what the precision allows and not against luck.
#pragma once

#include <vector>

#include "common/core/device_problem.hpp"
#include "common/core/problem.hpp"

namespace ladder::reference {

// o and final_state, as the recurrence of common/core/wkv.hpp stands.
WkvOutputs wkv_plain_fp32(const WkvProblem& problem);

// o, as running sums over the keys (common/core/linear_attention.hpp).
std::vector<float> linear_attention_plain_fp32(const LinearAttentionProblem& problem);

}  // namespace ladder::reference
