// Flash decoding, with a number of splits that a test chooses.
#pragma once

#include <cstdint>

#include "common/operators/attention/attention.hpp"

namespace flash_attention::split_keys {

// The registered launchers. With 0 splits the plan decides.
void attention_in_splits(const ladder::AttentionBf16Args& args, std::int64_t splits);
void attention_in_splits(const ladder::AttentionFp16Args& args, std::int64_t splits);

}  // namespace flash_attention::split_keys
