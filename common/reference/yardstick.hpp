// The yardstick: how large an error an honest plain loop makes on a problem, with fp32 sums and states. Sums run in order, one
// term after the other, and exp is off by a unit in the last place, which CUDA's own may be; nothing is clever, so that a kernel
// is measured against what the precision allows and not against luck.
// With Arithmetic::kBf16Operands the loop rounds to bf16 what a kernel on tensor cores rounds: q and k with the decays of up to
// 16 tokens on them, v, and whatever is computed first and then multiplied: states, their gradients, scores.
#pragma once

#include <vector>

#include "common/core/device_problem.hpp"
#include "common/core/problem.hpp"

namespace ladder::reference {

// o and final_state, as the recurrences of common/core/wkv.hpp stand.
WkvOutputs wkv_plain(const WkvProblem& problem, Arithmetic arithmetic = Arithmetic::kFp32);

// The gradients, as the recurrence of wkv_gradients stands.
WkvGradients wkv_gradients_plain(const WkvGradProblem& problem,
                                 Arithmetic arithmetic = Arithmetic::kFp32);

// o, as running sums over the keys (common/core/linear_attention.hpp).
std::vector<float> linear_attention_plain(const LinearAttentionProblem& problem,
                                          Arithmetic arithmetic = Arithmetic::kFp32);

// Softmax attention: the scores of a query, the largest, the sums; and its gradients with the problem's own o and lse. With
// Arithmetic::kBf16Operands what is multiplied is rounded to what the tensors are stored in, bf16 or fp16: the probabilities
// before their division by the sum, and for the gradients the probabilities and the gradients of the scores.
AttentionOutputs attention_plain(const AttentionProblem& problem,
                                 Arithmetic arithmetic = Arithmetic::kFp32);
AttentionGradients attention_gradients_plain(const AttentionGradProblem& problem,
                                             Arithmetic arithmetic = Arithmetic::kFp32);

}  // namespace ladder::reference
