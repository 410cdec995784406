// What a step takes from an earlier one where the decay between the two is miscounted, as it happens at the borders of chunks.
#pragma once

#include <vector>

#include "common/operators/shares.hpp"
#include "common/operators/wkv/problem.hpp"

namespace ladder::reference {

// Shares of the pairs of a step and an earlier one; the others are NaN. For problems that run forwards and are not packed; they refer to
// the problem.
std::vector<KnownShares> decay_shares(const WkvProblem& problem);

}  // namespace ladder::reference
