// Flash decoding: into how many splits the keys are cut.
#pragma once

#include <cstdint>

#include "common/operators/attention/attention.hpp"

namespace flash_attention::split_keys {

// Where blocks can run at once.
struct Places {
  int multiprocessors = 1;
  int blocks_each = 1;

  // Where one block for each multiprocessor does not keep memory busy: its warps are few, or several tiles of queries read the
  // same keys, and most reads find them in L2.
  Places as_one_round() const { return {multiprocessors * blocks_each, 1}; }
};

// Into how many splits, 1 or more, the keys of each batch are cut, so that `tiles` tiles of queries, which see up to `keys` keys of
// D channels each, are done soonest. See README for the rule and what it was fitted to.
std::int64_t split_plan(std::int64_t keys, std::int64_t D, std::int64_t tiles, Places places);

// The launchers that are registered, with a number of splits that a test chooses. 0: as planned.
void attention_in_splits(const ladder::AttentionBf16Args& args, std::int64_t splits);
void attention_in_splits(const ladder::AttentionFp16Args& args, std::int64_t splits);

}  // namespace flash_attention::split_keys
