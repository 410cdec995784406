// Where a call's work goes and which memory it may use, besides its arguments. A program that takes the kernels as a library says so
// (library/kernel_ladder.cpp); for all others it is the default stream, and memory from that stream's pool. Each thread has its own.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>

namespace ladder::cuda {

struct Call {
  cudaStream_t stream = nullptr;
  char* workspace = nullptr;  // what Scratch takes its memory from; null: from the stream's pool
  std::size_t bytes = 0;      // of the workspace
  std::size_t used = 0;
  bool only_counts = false;      // Scratch adds up `used`, and the first launch ends the call
  bool batch_invariant = false;  // multiprocessors_to_fill()
};

inline thread_local Call call;

// What is thrown at the first launch of a call that only counts.
struct Counted {};

// The stream of a launch or of another piece of work. All scratch memory is taken before the first of them.
inline cudaStream_t stream() {
  if (call.only_counts) throw Counted();
  return call.stream;
}

}  // namespace ladder::cuda
