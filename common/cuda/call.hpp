// The stream of a call's work and the memory it may use, besides its arguments. A program that uses
// the kernels as a library sets them (library/kernel_ladder.cpp). All others use the default stream
// and memory from that stream's pool. Each thread has its own call.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>

namespace ladder::cuda {

struct Call {
  cudaStream_t stream = nullptr;
  char* workspace = nullptr;  // Scratch's memory, or null for the stream's pool
  std::size_t bytes = 0;      // size of the workspace
  std::size_t used = 0;
  bool only_counts = false;      // Scratch adds up `used`, and the first launch ends the call
  bool batch_invariant = false;  // multiprocessors_to_fill()
};

inline thread_local Call call;

// Thrown at the first launch of a call that only counts.
struct Counted {};

// The stream of a launch or of other work. All scratch memory is taken before the first of them.
inline cudaStream_t stream() {
  if (call.only_counts) throw Counted();
  return call.stream;
}

}  // namespace ladder::cuda
