// Wrong results, each the truth with one fault in it: they are as little wrong as a kernel with that fault can be.
#pragma once

#include <string>
#include <vector>

#include "common/core/registry.hpp"
#include "common/operators/attention/problem.hpp"
#include "common/operators/linear_attention/problem.hpp"
#include "common/operators/parts.hpp"
#include "common/operators/wkv/problem.hpp"

namespace ladder::testing {

template <typename Outputs>
struct Planted {
  std::string fault;
  Outputs outputs;
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
std::vector<Planted<std::vector<float>>> planted_in(const reference::Part& part, bool fp32);

}  // namespace ladder::testing
