// The truth for WKV and GLA (common/operators/wkv/wkv.hpp has the formulas and their sources): Eigen, one plain statement a line of the
// formula. Where u is null it is GLA.
#pragma once

#include <vector>

#include "common/operators/wkv/cases.hpp"

namespace ladder {

using WkvResult = BasicWkvOutputs<double>;

// S_t from S_{t-1}, as the formula stands.
WkvResult wkv_recurrence(const WkvArgs& args);

// o and final_state with no state: o_t as a sum over all earlier steps, each weighted by the decays between. O(T^2).
WkvResult wkv_closed_sum(const WkvArgs& args);

// The gradients, by the adjoint recurrence: with G_t the gradient of the state after step t, from the last step to the first,
//
//     WKV: G_{t-1} = diag(w_t) G_t + scale * q_t d_o_t        GLA: G_{t-1} = diag(w_t) (G_t + scale * q_t d_o_t)
BasicWkvGradients<double> wkv_gradients(const WkvGradArgs& args);

// What must be true of each output that the case has, with the root of the sum of each element's squared terms, the products q k v with
// their decays: what an element is made of, however much of it cancels.
std::vector<Truth> wkv_truth(const WkvProblem& problem, Arithmetic arithmetic);
std::vector<Truth> wkv_gradients_truth(const WkvGradProblem& problem, Arithmetic arithmetic);

}  // namespace ladder
