// y = x transposed, so that y(n, m) = x(m, n).
#pragma once

#include <cstdint>

#include "common/core/arrays.hpp"

namespace warmup {

struct Transpose;  // the operator, in transpose_operator.cpp

struct TransposeSizes {
  std::int64_t M = 1024, N = 500;  // rows and columns of x, 0 or more

  template <typename Self, typename Visit>
  static void fields(Self& s, const Visit& visit) {
    visit("M", s.M, 0), visit("N", s.N, 0);
  }
};

struct TransposeArgs : TransposeSizes {
  static constexpr const char* kStorage = "fp32";
  const float* x = nullptr;  // (M, N)
  float* y = nullptr;        // (N, M)

  template <typename Self, typename Visit>
  static void arrays(Self& s, const Visit& visit) {
    visit("x", s.x, {{"m", s.M}, {"n", s.N}});
    visit("y", s.y, {{"n", s.N}, {"m", s.M}});
  }
};

}  // namespace warmup
