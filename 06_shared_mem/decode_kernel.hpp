// What 08_decode/kernel.cu has for the launcher of another lesson, for float, bfloat16, bfloat16 with log_w in float, and
// float16.
#pragma once

#include "common/operators/wkv/wkv.hpp"

namespace shared_mem {

// T = 1. kAligned: all rows consist of whole words of four elements. `args` have been validated.
template <ladder::Recurrence kRecurrence, bool kAligned, typename Element, typename LogW>
void single_step(const ladder::BasicWkvArgs<Element, LogW>& args);

}  // namespace shared_mem
