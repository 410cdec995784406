// C = A B.
#pragma once

#include <cstdint>

#include "common/core/arrays.hpp"

namespace ladder {

struct Matmul;  // the operator, in matmul_operator.cpp

struct MatmulSizes {
  std::int64_t M = 64, N = 64, K = 64;  // 0 or more

  template <typename Self, typename Visit>
  static void fields(Self& s, const Visit& visit) {
    visit("M", s.M, 0), visit("N", s.N, 0), visit("K", s.K, 0);
  }
};

template <typename Element>
struct MatmulArgs : MatmulSizes {
  static constexpr const char* kStorage = sizeof(Element) == sizeof(float) ? "fp32" : "bf16";
  const Element* a = nullptr;  // (M, K)
  const Element* b = nullptr;  // (K, N)
  Element* c = nullptr;        // (M, N)

  template <typename Self, typename Visit>
  static void arrays(Self& s, const Visit& visit) {
    visit("a", s.a, {{"m", s.M}, {"k", s.K}});
    visit("b", s.b, {{"k", s.K}, {"n", s.N}});
    visit("c", s.c, {{"m", s.M}, {"n", s.N}});
  }
};

}  // namespace ladder
