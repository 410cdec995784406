// The cases of the table: the suites' pairs of levels with lengths and sizes that are short, long and odd, and random small ones.
#pragma once

#include <cstdint>
#include <vector>

#include "common/operators/attention/problem.hpp"
#include "common/operators/linear_attention/problem.hpp"
#include "common/operators/wkv/problem.hpp"

namespace ladder::judge_table {

struct Cases {
  std::vector<WkvCase> forward, backward;  // of WKV and of GLA
  std::vector<LinearAttentionCase> linear_attention;
  std::vector<AttentionCase> attention;
};

// `long_too`: sequences of 1000 steps, and sizes of 256, as they stand; without, so small that the emulator has them soon.
Cases all_cases(bool long_too);

// One small case of each kind per seed.
Cases random_cases(std::int64_t seeds);

}  // namespace ladder::judge_table
