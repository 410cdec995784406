// Both ways to d_log_w. The registered kernel takes the first; the second is here to be compared with it.
#pragma once

#include "common/operators/wkv/wkv.hpp"

namespace chunkwise {

enum class DLogW {
  kChainRule,  // lesson 18's: what is left before the step, times the gradient of what is left behind it
  kDifference,  // the textbook's: sums of q dq and of k dk over the steps behind, one minus the other
};

void gradients(const ladder::WkvGradArgs& args, DLogW way);

}  // namespace chunkwise
