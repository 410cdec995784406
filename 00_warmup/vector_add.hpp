// c = a + b for two vectors, the operator of lessons 01 and 02.
#pragma once

#include <cstdint>

#include "common/core/arrays.hpp"

namespace warmup {

struct VectorAdd;  // the operator, in vector_add_operator.cpp

struct VectorAddSizes {
  std::int64_t N = 1 << 14;  // elements per vector, 0 or more

  template <typename Self, typename Visit>
  static void fields(Self& s, const Visit& visit) {
    visit("N", s.N, 0);
  }
};

struct VectorAddArgs : VectorAddSizes {
  static constexpr const char* kStorage = "fp32";
  const float* a = nullptr;  // (N)
  const float* b = nullptr;  // (N)
  float* c = nullptr;        // (N)

  template <typename Self, typename Visit>
  static void arrays(Self& s, const Visit& visit) {
    visit("a", s.a, {{"i", s.N}});
    visit("b", s.b, {{"i", s.N}});
    visit("c", s.c, {{"i", s.N}});
  }
};

}  // namespace warmup
