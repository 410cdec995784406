// Cases by their names: those that a draw has found, so that they are tested whether they are drawn again or not.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "common/operators/attention/problem.hpp"
#include "common/operators/linear_attention/problem.hpp"
#include "common/operators/wkv/problem.hpp"

namespace ladder::testing {

// As name_of gives it, and the seed, which is not in the name.
struct NamedCase {
  std::string name;
  std::uint32_t seed = 1;
};

// The case with the suites' magnitudes, scales and eps. std::invalid_argument where it is no such name.
WkvCase wkv_case(const NamedCase& named);
LinearAttentionCase linear_attention_case(const NamedCase& named);
AttentionCase attention_case(const NamedCase& named);

// `cases`, and of those that are named the ones with other names.
template <typename Case>
std::vector<Case> with_named(std::vector<Case> cases, const std::vector<NamedCase>& named,
                             Case (*case_of)(const NamedCase&)) {
  for (const NamedCase& each : named) {
    const bool there = std::any_of(cases.begin(), cases.end(),
                                   [&](const Case& c) { return name_of(c) == each.name; });
    if (!there) cases.push_back(case_of(each));
  }
  return cases;
}

}  // namespace ladder::testing
