// Both ways to compute d_log_w. The registered kernel uses the first; the second is for comparison.
#pragma once

#include "common/operators/wkv/wkv.hpp"

namespace chunkwise {

enum class DLogW {
  kChainRule,   // lesson 18's: the state before the step, times the gradient of the state after it
  kDifference,  // the textbook's: sums of q dq and of k dk over later steps, one minus the other
};

void gradients(const ladder::WkvGradArgs& args, DLogW way);

}  // namespace chunkwise
