// The most key rows of time tiles (06.07). wkv.cu chooses the kernel by it, and 06.07 rejects more.
#pragma once

#include <cstdint>

namespace shared_mem {

constexpr std::int64_t kMostRows = 256;  // K

}  // namespace shared_mem
