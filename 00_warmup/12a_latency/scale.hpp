// y = factor * x, with as little arithmetic as possible, so that only memory matters.
#pragma once

#include <cstdint>

#include "common/core/arrays.hpp"

namespace warmup {

struct Scale;  // the operator, in scale_operator.cpp

struct ScaleSizes {
  std::int64_t N = 65536;  // 0 or more
  float factor = 3.0f;

  template <typename Self, typename Visit>
  static void fields(Self& s, const Visit& visit) {
    visit("N", s.N, 0), visit("factor", s.factor);
  }
};

struct ScaleArgs : ScaleSizes {
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
