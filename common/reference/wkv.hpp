// The judge for WKV (common/core/wkv.hpp has the formula and its source): Eigen, one plain statement a line of the formula.
#pragma once

#include <vector>

#include "common/core/problem.hpp"

namespace ladder::reference {

struct WkvResult {
  std::vector<double> o;            // (B, T, H, V)
  std::vector<double> final_state;  // (B, H, K, V)
};

// S_t from S_{t-1}, as the formula stands.
WkvResult wkv_recurrence(const WkvProblem& problem);

// The same with no state: o_t as a sum over all earlier steps, each weighted by the decays between. O(T^2).
WkvResult wkv_closed_sum(const WkvProblem& problem);

}  // namespace ladder::reference
