// y = x, copied by warps that read x in different patterns.
#pragma once

#include <cstdint>

#include "common/core/arrays.hpp"

namespace warmup {

struct WarpCopy;  // the operator: warp_copy_operator.cpp

struct WarpCopySizes {
  std::int64_t N = 1 << 15;  // elements; 0 or more

  template <typename Self, typename Visit>
  static void fields(Self& s, const Visit& visit) {
    visit("N", s.N, 0);
  }
};

struct WarpCopyArgs : WarpCopySizes {
  static constexpr const char* kStorage = "fp32";
  const float* x = nullptr;  // (N)
  float* y = nullptr;        // (N)

  template <typename Self, typename Visit>
  static void arrays(Self& s, const Visit& visit) {
    visit("x", s.x, {{"n", s.N}});
    visit("y", s.y, {{"n", s.N}});
  }
};

// What the 32 lanes of a warp read in one request.
enum class ReadPattern {
  kBroadcast,   // all the same float
  kStrided,     // floats that are 8 floats apart, the first at the beginning of a sector
  kMisaligned,  // 32 floats side by side, the first one float behind the beginning of a sector
  kCoalesced,   // 32 floats side by side, the first at the beginning of a sector
  kVector,      // 32 times four floats side by side, the first at the beginning of a sector
};

// How many sectors such a request moves (kernel.cu).
int predicted_sectors(ReadPattern pattern);

}  // namespace warmup
