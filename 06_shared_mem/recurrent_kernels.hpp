// The recurrences that this chapter's dispatcher chooses from. Each takes float, bfloat16, and bfloat16 with log_w in float.
#pragma once

#include <cstdint>

#include "common/operators/wkv/wkv.hpp"

namespace chapter06 {

namespace time_tiles {

constexpr std::int64_t kMostRows = 256;  // K

template <typename Element, typename LogW>
void wkv(const ladder::BasicWkvArgs<Element, LogW>& args);

}  // namespace time_tiles

namespace fused_recurrent {

template <typename Element, typename LogW>
void wkv(const ladder::BasicWkvArgs<Element, LogW>& args);

}  // namespace fused_recurrent

}  // namespace chapter06
