// Softmax attention in one walk over the keys, with a running maximum, sum and mean: the "online softmax". It has nothing but the mask in
// common with the closed sum, which is the truth, and can be walked wrongly.
#pragma once

#include <cstdint>

#include "common/operators/attention/reference.hpp"

namespace ladder::reference {

// As it stands here: right.
struct Walk {
  std::int64_t tile = 1;    // keys
  bool last_first = false;  // the last tile first
  // Keys that a query does not see count in its sum, where its tile of so many queries visits them; behind the last key, keys of
  // zeros do. 0: none of them counts.
  std::int64_t query_tile = 0;
  bool maximum_carried = true;                  // or each tile has its own
  bool o_rescaled = true, sum_rescaled = true;  // when the maximum grows
};

AttentionResult walk(const AttentionProblem& problem, const Walk& how);

}  // namespace ladder::reference
