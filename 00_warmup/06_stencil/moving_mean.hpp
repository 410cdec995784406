// The mean of an element and its R neighbours on each side. Elements out of bounds count as 0.
//
//     y[i] = (x[i - R] + ... + x[i] + ... + x[i + R]) / (2 R + 1)
#pragma once

#include <cstdint>

#include "common/core/arrays.hpp"

namespace warmup {

struct MovingMean;  // the operator, in moving_mean_operator.cpp

constexpr std::int64_t kMostRadius = 32;

struct MovingMeanSizes {
  std::int64_t N = 4096;  // elements, 0 or more
  std::int64_t R = 4;     // neighbours on each side, 0 to kMostRadius

  template <typename Self, typename Visit>
  static void fields(Self& s, const Visit& visit) {
    visit("N", s.N, 0), visit("R", s.R, 0);
  }
};

struct MovingMeanArgs : MovingMeanSizes {
  static constexpr const char* kStorage = "fp32";
  const float* x = nullptr;  // (N)
  float* y = nullptr;        // (N)

  template <typename Self, typename Visit>
  static void arrays(Self& s, const Visit& visit) {
    visit("x", s.x, {{"n", s.N}});
    visit("y", s.y, {{"n", s.N}});
  }
};

}  // namespace warmup
