// y = the sum of x's N elements.
#pragma once

#include <cstdint>

#include "common/core/arrays.hpp"

namespace warmup {

struct Sum;  // the operator, in sum_operator.cpp

struct SumSizes {
  std::int64_t N = 1000000;  // 0 or more

  template <typename Self, typename Visit>
  static void fields(Self& s, const Visit& visit) {
    visit("N", s.N, 0);
  }
};

struct SumArgs : SumSizes {
  static constexpr const char* kStorage = "fp32";
  const float* x = nullptr;  // (N)
  float* y = nullptr;        // (1)

  template <typename Self, typename Visit>
  static void arrays(Self& s, const Visit& visit) {
    visit("x", s.x, {{"n", s.N}});
    visit("y", s.y, {{"i", 1}});
  }
};

}  // namespace warmup
