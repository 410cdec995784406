// Both ways to compute d_log_w. The registered kernel uses the first, and the second is for
// comparison.
#pragma once

#include "common/operators/wkv/wkv.hpp"

namespace chunkwise {

enum class DLogW {
  kChainRule,   // lesson 18's, the state before the step times the gradient of the state after it
  kDifference,  // the textbook's, the sum of q dq minus the sum of k dk, over later steps
};

void gradients(const ladder::WkvGradArgs& args, DLogW way);

}  // namespace chunkwise
