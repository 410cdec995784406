// The recurrences that launchers of other lessons call: those that this chapter's dispatcher chooses from, and the single step. Each takes float, bfloat16, and bfloat16 with log_w in float.
#pragma once

#include <cstdint>

#include "common/operators/wkv/wkv.hpp"

namespace chapter06 {

namespace time_tiles {

constexpr std::int64_t kMostRows = 256;  // K

template <typename Element, typename LogW>
void wkv(const ladder::BasicWkvArgs<Element, LogW>& args);

}  // namespace time_tiles

namespace decode {

// T = 1. kAligned: all rows consist of whole words of four elements. `args` have been validated.
template <ladder::Recurrence kRecurrence, bool kAligned, typename Element, typename LogW>
void single_step(const ladder::BasicWkvArgs<Element, LogW>& args);

}  // namespace decode

namespace fused_recurrent {

template <typename Element, typename LogW>
void wkv(const ladder::BasicWkvArgs<Element, LogW>& args);

}  // namespace fused_recurrent

}  // namespace chapter06
