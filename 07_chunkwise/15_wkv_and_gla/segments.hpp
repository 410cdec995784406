// Into how many segments of time kernel.cu cuts each sequence. Host arithmetic only, so that it can be tested without a launch.
#pragma once

#include <algorithm>
#include <cstdint>

#include "common/operators/wkv/wkv.hpp"

namespace chunkwise {

// A segment shorter than this many chunks is not worth a second pass over k, v and log_w.
constexpr int kFewestChunks = 2;

// The steps of one sequence. A batch is one sequence of T steps. Packed sequences share T, and their lengths lie on the device: the
// host knows only the average. So one long sequence among many short ones is cut less than it could be.
template <typename Element, typename LogW>
std::int64_t steps_of_a_sequence(const ladder::BasicWkvArgs<Element, LogW>& args) {
  if (args.cu_seqlens == nullptr) return args.T;
  return args.sequences > 0 ? args.T / args.sequences : 0;
}

// As many segments as the device has `room` for, in blocks, and each of at least kFewestChunks chunks. `blocks`: how many there are
// without segments, 1 or more. One, where more than half of the multiprocessors have a block anyhow: segments are two thirds more
// work, and would only share multiprocessors (128 heads of 64 on an H200, bf16: 6 to 26 % slower in two segments).
inline std::int64_t segment_count(std::int64_t room, std::int64_t multiprocessors,
                                  std::int64_t blocks, std::int64_t steps,
                                  std::int64_t steps_per_chunk) {
  if (2 * blocks > multiprocessors) return 1;
  const std::int64_t worth_it = steps / (kFewestChunks * steps_per_chunk);
  return std::max<std::int64_t>(1, std::min(room / blocks, worth_it));
}

}  // namespace chunkwise
