// The arrays of an operator's results, each with what it should be and what it may be wrong by.
#pragma once

#include <string>
#include <vector>

#include "common/judge/judging.hpp"
#include "common/operators/attention/reference.hpp"
#include "common/operators/roundings.hpp"
#include "common/operators/wkv/reference.hpp"

namespace ladder::reference {

// The layout of an array with axes of these names; `step` is what t is called.
Layout layout_of(const std::string& array, const std::vector<std::string>& axes,
                 const std::vector<std::int64_t>& sizes, const std::string& step = "step");

// The truth, and of each of its elements the root of the sum of its squared terms.
template <typename Result>
struct Expected {
  Result truth, terms;
};

using ExpectedWkv = Expected<WkvResult>;
using ExpectedWkvGradients = Expected<BasicWkvGradients<double>>;
using ExpectedLinearAttention = Expected<std::vector<double>>;
using ExpectedAttention = Expected<AttentionResult>;
using ExpectedAttentionGradients = Expected<BasicAttentionGradients<double>>;

ExpectedWkv expected(const WkvProblem& problem, Arithmetic arithmetic);
ExpectedWkvGradients expected(const WkvGradProblem& problem, Arithmetic arithmetic);
ExpectedLinearAttention expected(const LinearAttentionProblem& problem, Arithmetic arithmetic);
ExpectedAttention expected(const AttentionProblem& problem, Arithmetic arithmetic);
ExpectedAttentionGradients expected(const AttentionGradProblem& problem, Arithmetic arithmetic);

// Those that the case asks for, without empty ones. An lse of -inf is not a number to compare: where the truth has it, callers put 0
// in all three.
std::vector<Part> parts(const WkvProblem& problem, const ExpectedWkv& expected,
                        const WkvOutputs& outputs, Arithmetic arithmetic);
std::vector<Part> parts(const WkvGradProblem& problem, const ExpectedWkvGradients& expected,
                        const WkvGradients& gradients, Arithmetic arithmetic);
std::vector<Part> parts(const LinearAttentionProblem& problem,
                        const ExpectedLinearAttention& expected, const std::vector<float>& o,
                        Arithmetic arithmetic);
std::vector<Part> parts(const AttentionProblem& problem, const ExpectedAttention& expected,
                        const AttentionOutputs& outputs, Arithmetic arithmetic);
std::vector<Part> parts(const AttentionGradProblem& problem,
                        const ExpectedAttentionGradients& expected,
                        const AttentionGradients& gradients, Arithmetic arithmetic);

}  // namespace ladder::reference
