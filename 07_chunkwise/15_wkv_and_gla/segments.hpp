// The number of segments of time per sequence in kernel.cu. This is host arithmetic only, so that
// it can be tested without a launch.
#pragma once

#include <algorithm>
#include <cstdint>

#include "common/operators/wkv/wkv.hpp"

namespace chunkwise {

// A segment of fewer chunks is not worth a second pass over k, v and log_w.
constexpr int kFewestChunks = 2;

// The steps of one sequence. A batch is one sequence of T steps. Packed sequences share T, and
// their lengths are in device memory, so the host knows only the average. Therefore one long
// sequence among many short ones gets too few segments.
template <typename Element, typename LogW>
std::int64_t steps_of_a_sequence(const ladder::BasicWkvArgs<Element, LogW>& args) {
  if (args.cu_seqlens == nullptr) return args.T;
  return args.sequences > 0 ? args.T / args.sequences : 0;
}

// As many segments as the device has `room` for, in blocks, and each of at least kFewestChunks
// chunks. `blocks` is their number without segments, 1 or more. The result is one segment if more
// than half of the SMs have a block anyway, because segments add two thirds of the work and would
// only share SMs (128 heads of 64 on an H200, bf16: 6 to 26 % slower in two segments).
inline std::int64_t segment_count(std::int64_t room, std::int64_t multiprocessors,
                                  std::int64_t blocks, std::int64_t steps,
                                  std::int64_t steps_per_chunk) {
  if (2 * blocks > multiprocessors) return 1;
  const std::int64_t worth_it = steps / (kFewestChunks * steps_per_chunk);
  return std::max<std::int64_t>(1, std::min(room / blocks, worth_it));
}

}  // namespace chunkwise
