// Two operators whose rows are independent of each other.
//
//     softmax:   y(m, n) = exp(x(m, n)) / sum over i of exp(x(m, i))
//     rms_norm:  y(m, n) = x(m, n) weight(n) / sqrt(mean over i of x(m, i)^2 + eps)
#pragma once

#include <cstdint>

#include "common/core/arrays.hpp"

namespace warmup {

struct Softmax;  // the operators, in rows_operator.cpp
struct RmsNorm;

struct SoftmaxSizes {
  std::int64_t M = 512, N = 1024;  // rows, and elements of a row, both 0 or more

  template <typename Self, typename Visit>
  static void fields(Self& s, const Visit& visit) {
    visit("M", s.M, 0), visit("N", s.N, 0);
  }
};

struct SoftmaxArgs : SoftmaxSizes {
  static constexpr const char* kStorage = "fp32";
  const float* x = nullptr;  // (M, N)
  float* y = nullptr;        // (M, N)

  template <typename Self, typename Visit>
  static void arrays(Self& s, const Visit& visit) {
    visit("x", s.x, {{"m", s.M}, {"n", s.N}});
    visit("y", s.y, {{"m", s.M}, {"n", s.N}});
  }
};

struct RmsNormSizes {
  std::int64_t M = 512, N = 1024;  // rows, and elements of a row, both 0 or more
  float eps = 1e-5f;               // more than 0, so that a row of zeros stays zeros

  template <typename Self, typename Visit>
  static void fields(Self& s, const Visit& visit) {
    visit("M", s.M, 0), visit("N", s.N, 0), visit("eps", s.eps, 1e-30f);
  }
};

struct RmsNormArgs : RmsNormSizes {
  static constexpr const char* kStorage = "fp32";
  const float* x = nullptr;       // (M, N)
  const float* weight = nullptr;  // (N)
  float* y = nullptr;             // (M, N)

  template <typename Self, typename Visit>
  static void arrays(Self& s, const Visit& visit) {
    visit("x", s.x, {{"m", s.M}, {"n", s.N}});
    visit("weight", s.weight, {{"n", s.N}});
    visit("y", s.y, {{"m", s.M}, {"n", s.N}});
  }
};

}  // namespace warmup
