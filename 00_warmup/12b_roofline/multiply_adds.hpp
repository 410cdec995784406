// y = x after any number of FMAs, which is any amount of arithmetic per byte.
#pragma once

#include <cstdint>

#include "common/core/arrays.hpp"

namespace warmup {

struct MultiplyAdds;  // the operator, in multiply_adds_operator.cpp

// y = x after `rounds` times x = factor * x + 1.
struct MultiplyAddsSizes {
  std::int64_t N = 65536;  // 0 or more
  std::int64_t rounds = 4;
  float factor = 0.5f;

  template <typename Self, typename Visit>
  static void fields(Self& s, const Visit& visit) {
    visit("N", s.N, 0), visit("rounds", s.rounds, 0, 1 << 20), visit("factor", s.factor);
  }
};

struct MultiplyAddsArgs : MultiplyAddsSizes {
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
