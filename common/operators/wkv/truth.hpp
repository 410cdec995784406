// Truth of WKV and GLA, in Eigen with one statement per line of the formula. A null u means GLA.
// Formulas and sources: common/operators/wkv/wkv.hpp.
#pragma once

#include <vector>

#include "common/operators/wkv/cases.hpp"

namespace ladder {

using WkvResult = BasicWkvOutputs<double>;

// By the recurrence, S_t from S_{t-1}.
WkvResult wkv_recurrence(const WkvArgs& args);

// Without a running state, as sums over all earlier steps weighted by the decays between. O(T^2).
WkvResult wkv_closed_sum(const WkvArgs& args);

// Gradients by the adjoint recurrence, from last to first, with G_t the gradient of S_t:
//
//     WKV: G_{t-1} = diag(w_t) G_t + scale * q_t d_o_t
//     GLA: G_{t-1} = diag(w_t) (G_t + scale * q_t d_o_t)
BasicWkvGradients<double> wkv_gradients(const WkvGradArgs& args);

// The truth of each output of the case, with the root of the sum of each element's squared terms.
// Terms are the products q k v with their decays, which remain if the element itself cancels.
std::vector<Truth> wkv_truth(const WkvProblem& problem, Arithmetic arithmetic);
std::vector<Truth> wkv_gradients_truth(const WkvGradProblem& problem, Arithmetic arithmetic);

}  // namespace ladder
