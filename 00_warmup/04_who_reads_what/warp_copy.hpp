// y = x, copied by warps that read x in different patterns.
#pragma once

#include <cstdint>

#include "common/core/arrays.hpp"

namespace warmup {

struct WarpCopy;  // the operator, in warp_copy_operator.cpp

struct WarpCopySizes {
  std::int64_t N = 1 << 15;  // elements, 0 or more

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

// The floats that the 32 lanes of a warp read in one request.
enum class ReadPattern {
  kBroadcast,   // all the same float
  kStrided,     // 8 floats apart, the first at the beginning of a sector
  kMisaligned,  // 32 adjacent floats, the first one float after the beginning of a sector
  kCoalesced,   // 32 adjacent floats, the first at the beginning of a sector
  kVector,      // 32 times four adjacent floats, the first at the beginning of a sector
};

// The number of sectors that such a request moves (kernel.cu).
int predicted_sectors(ReadPattern pattern);

}  // namespace warmup
