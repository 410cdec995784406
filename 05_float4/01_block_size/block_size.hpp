// What a launch puts on a GPU, counted without one.
#pragma once

#include <cstdint>

namespace block_size {

// The warps on the multiprocessor that gets most blocks, where the blocks of `threads` threads, a multiple of 32, are dealt out evenly.
std::int64_t warps_on_busiest(std::int64_t channels, int threads, int multiprocessors);

}  // namespace block_size
