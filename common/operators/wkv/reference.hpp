// The judge for WKV and GLA (common/operators/wkv/wkv.hpp has the formulas and their sources): Eigen, one plain statement a line of the
// formula. The case says which of the two, and whether sequences are packed.
#pragma once

#include <vector>

#include "common/operators/wkv/problem.hpp"

namespace ladder::reference {

struct WkvResult {
  std::vector<double> o;            // (B, T, H, V)
  std::vector<double> final_state;  // (sequences, H, K, V)
};

// S_t from S_{t-1}, as the formula stands.
WkvResult wkv_recurrence(const WkvProblem& problem);

// Of each element the root of the sum of its squared terms, the products q k v with their decays: what an element is made of, however
// much of it cancels. Rounding errors are relative to these.
WkvResult wkv_terms(const WkvProblem& problem);

// o and final_state with no state: o_t as a sum over all earlier steps, each weighted by the decays between. O(T^2).
WkvResult wkv_closed_sum(const WkvProblem& problem);

// The gradients, by the adjoint recurrence: with G_t the gradient of the state after step t, from the last step to the first,
//
//     WKV: G_{t-1} = diag(w_t) G_t + scale * q_t d_o_t        GLA: G_{t-1} = diag(w_t) (G_t + scale * q_t d_o_t)
BasicWkvGradients<double> wkv_gradients(const WkvGradProblem& problem);
BasicWkvGradients<double> wkv_gradient_terms(const WkvGradProblem& problem);

}  // namespace ladder::reference
