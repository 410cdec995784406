// Counts a launch's warps per SM, without a GPU.
#pragma once

#include <cstdint>

namespace block_size {

// Warps on the SM with the most blocks, when blocks are distributed evenly. A block is on one SM
// and has `threads` threads, a multiple of 32.
std::int64_t warps_on_busiest(std::int64_t channels, int threads, int multiprocessors);

}  // namespace block_size
