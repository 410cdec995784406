// Results for the judge's self-test: the truth as it is stored, and one row or element of it wrong. Those that are wrong in another way
// are in common/operators/misconceptions.hpp.
#pragma once

#include <string>
#include <vector>

#include "common/operators/attention/problem.hpp"
#include "common/operators/linear_attention/problem.hpp"
#include "common/operators/parts.hpp"
#include "common/operators/wkv/problem.hpp"

namespace ladder::testing {

struct Planted {
  std::string fault;
  std::vector<float> values;
};

// What the truth is when it is stored.
WkvOutputs stored(const WkvProblem& problem, const reference::WkvResult& truth);
WkvGradients stored(const WkvGradProblem& problem, const BasicWkvGradients<double>& truth);
std::vector<float> stored(const LinearAttentionProblem& problem, const std::vector<double>& truth);
AttentionOutputs stored(const AttentionProblem& problem, const reference::AttentionResult& truth);
AttentionGradients stored(const AttentionGradProblem& problem,
                          const BasicAttentionGradients<double>& truth);

// Of one array: "row": the largest row comes from the next head; "element": the largest of its elements is off by a tenth of its
// terms, of those in fp32 by 1e-4.
std::vector<Planted> planted_in(const reference::Part& part, bool fp32);

}  // namespace ladder::testing
