// The judge for WKV and GLA (common/core/wkv.hpp has the formulas and their sources): Eigen, one plain statement a line of the
// formula. The case says which of the two, and whether sequences are packed.
#pragma once

#include <vector>

#include "common/core/problem.hpp"

namespace ladder::reference {

struct WkvResult {
  std::vector<double> o;            // (B, T, H, V)
  std::vector<double> final_state;  // (sequences, H, K, V)
};

// S_t from S_{t-1}, as the formula stands.
WkvResult wkv_recurrence(const WkvProblem& problem);

// The same with no state: o_t as a sum over all earlier steps, each weighted by the decays between. O(T^2).
WkvResult wkv_closed_sum(const WkvProblem& problem);

// The gradients, by the adjoint recurrence: with G_t the gradient of the state after step t, from the last step to the first,
//
//     WKV: G_{t-1} = diag(w_t) G_t + scale * q_t d_o_t        GLA: G_{t-1} = diag(w_t) (G_t + scale * q_t d_o_t)
BasicWkvGradients<double> wkv_gradients(const WkvGradProblem& problem);

}  // namespace ladder::reference
