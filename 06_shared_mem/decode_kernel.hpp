// The launcher of 08_decode/kernel.cu, for 07_time_tiles. It exists for float, bfloat16, bfloat16
// with log_w in float, and float16.
#pragma once

#include "common/operators/wkv/wkv.hpp"

namespace shared_mem {

// Needs T = 1 and validated `args`. kAligned means that all rows consist of whole vectors of four
// elements.
template <ladder::Recurrence kRecurrence, bool kAligned, typename Element, typename LogW>
void single_step(const ladder::BasicWkvArgs<Element, LogW>& args);

}  // namespace shared_mem
