// Tests of attention at the limits of its arguments, such as tiles, sequences, heads and
// alignments, with bad lengths and with NaN. register_forward_edges("attention_sm90", {...}) and
// register_backward_edges register them for one implementation.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "common/core/precision.hpp"

namespace flash_attention::edges {

// The features of the implementation.
struct Support {
  ladder::Precision precision = ladder::Precision::kBf16;
  bool packed = true, key_lengths = true;
  bool dq_repeatable = true;  // of the gradients (dk and dv always are)
  bool skips_masked_tiles =
      true;  // if causal, values that no query of a tile sees are not multiplied by 0
  std::int64_t D = 64;
  bool all_options = false;  // a window and a softcap
  bool scale_of_0 = false;
  bool any_D = false;  // multiples of D_step up to most_D
  std::int64_t D_step = 8, most_D = 256;
  std::int64_t D_v = 0;                  // of the cases, or 0 for D
  bool any_D_v = false;                  // also different from D
  bool little_shared_memory = true;      // 99 KB are enough for all options
  std::vector<std::string> limits = {};  // arguments with a maximum
  bool slots = false;  // packed sequences use slots.hpp, so there may be many more
};

// Whether case n of a test that runs under each schedule is due. A device's schedules share the
// cases, and a GPU has one.
bool is_due(std::size_t n);
// Whether kernels run on a GPU and not in the emulator.
bool on_a_gpu();

bool register_forward_edges(const std::string& name, const Support& support);
bool register_backward_edges(const std::string& name, const Support& support);

}  // namespace flash_attention::edges
