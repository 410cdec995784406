// How many key rows time tiles (lesson 07) take: `wkv` chooses by it, and 07 refuses above it.
#pragma once

#include <cstdint>

namespace shared_mem {

constexpr std::int64_t kMostRows = 256;  // K

}  // namespace shared_mem
