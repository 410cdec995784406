// The running sum in each block of 128 elements, and tools for a wrong result.
//
//     y[i] = x[b] + ... + x[i],  b = i - i % 128
#pragma once

#include <cstdint>
#include <string>

#include "common/core/arrays.hpp"

namespace warmup {

struct BlockRunningSum;  // the operator, in block_running_sum_operator.cpp

constexpr int kRunningBlock = 128;

struct BlockRunningSumSizes {
  std::int64_t N = 2048;  // elements, 0 or more

  template <typename Self, typename Visit>
  static void fields(Self& s, const Visit& visit) {
    visit("N", s.N, 0);
  }
};

struct BlockRunningSumArgs : BlockRunningSumSizes {
  static constexpr const char* kStorage = "fp32";
  const float* x = nullptr;  // (N)
  float* y = nullptr;        // (N)

  template <typename Self, typename Visit>
  static void arrays(Self& s, const Visit& visit) {
    visit("x", s.x, {{"n", s.N}});
    visit("y", s.y, {{"n", s.N}});
  }
};

// Runs the kernel. Threads whose threadIdx fulfils `threads`, in blocks whose blockIdx fulfils
// `blocks` (where.hpp), print a line per step. With `stop` they stop the kernel instead.
void watch_running_sum(const BlockRunningSumArgs& args, const std::string& blocks,
                       const std::string& threads, bool stop = false);

// True if an index fulfils conditions such as "=0,>1".
bool fulfils(const std::string& conditions, unsigned x, unsigned y, unsigned z);

// Element (i, j, k) of a view is at first + i * strides[0] + j * strides[1] + k * strides[2].
struct View {
  std::int64_t sizes[3] = {};
  std::int64_t strides[3] = {};  // in elements
};

// True if the view's elements are contiguous in index order, with the last index changing fastest.
bool is_contiguous(const View& view);

// True if a kernel may read that address.
bool is_on_device(const void* pointer);

// Launches a kernel with a block of 2048 threads, which no GPU can start, and returns the runtime's
// errors, call by call.
std::string errors_of_an_impossible_launch();

}  // namespace warmup
