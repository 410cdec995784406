// Plain loops: what somebody who writes down the formula gets with fp32 sums and states, one term after the other. No limit depends on
// them: their errors are shown beside a kernel's, for information.
// With Arithmetic::kBf16Operands they round to bf16 what a product is computed from first: states, their gradients, phi.
#pragma once

#include <vector>

#include "common/core/registry.hpp"
#include "common/operators/attention/problem.hpp"
#include "common/operators/linear_attention/problem.hpp"
#include "common/operators/wkv/problem.hpp"

namespace ladder::reference {

// o and final_state, as the recurrences of common/operators/wkv/wkv.hpp stand.
WkvOutputs wkv_plain(const WkvProblem& problem, Arithmetic arithmetic = Arithmetic::kFp32);

// The gradients, as the recurrence of wkv_gradients stands.
WkvGradients wkv_gradients_plain(const WkvGradProblem& problem,
                                 Arithmetic arithmetic = Arithmetic::kFp32);

// o, as running sums over the keys (common/operators/linear_attention/linear_attention.hpp).
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
