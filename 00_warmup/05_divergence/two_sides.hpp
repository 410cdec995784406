// Elements of two kinds. y[i] is a polynomial of x[i] for even i, and the largest of K products
// with x[i] for odd i.
//
//     y[i] = p[0] + p[1] x + ... + p[K - 1] x^(K - 1)    i even, x = x[i]
//     y[i] = max(q[0] x, q[1] x, ..., q[K - 1] x)        i odd
#pragma once

#include <cstdint>

#include "common/core/arrays.hpp"

namespace warmup {

struct TwoSides;  // the operator, in two_sides_operator.cpp

struct TwoSidesSizes {
  std::int64_t N = 4096;  // elements, 0 or more
  std::int64_t K = 16;    // coefficients of each kind, 1 or more

  template <typename Self, typename Visit>
  static void fields(Self& s, const Visit& visit) {
    visit("N", s.N, 0), visit("K", s.K, 1);
  }
};

struct TwoSidesArgs : TwoSidesSizes {
  static constexpr const char* kStorage = "fp32";
  const float* x = nullptr;  // (N)
  const float* p = nullptr;  // (K) coefficients
  const float* q = nullptr;  // (K) factors
  float* y = nullptr;        // (N)

  template <typename Self, typename Visit>
  static void arrays(Self& s, const Visit& visit) {
    visit("x", s.x, {{"n", s.N}});
    visit("p", s.p, {{"k", s.K}});
    visit("q", s.q, {{"k", s.K}});
    visit("y", s.y, {{"n", s.N}});
  }
};

}  // namespace warmup
