// C = A B with 4-bit B, where b(k, n) = scale(k / 32, n) * (code(k, n) - zero(k / 32, n)). Codes
// and zero points are 0 to 15. A word packs eight codes of a column, lowest bits first.
#pragma once

#include <cstdint>

#include "common/core/arrays.hpp"

namespace ladder {

struct MatmulInt4;  // the operator, in matmul_int4_operator.cpp

constexpr std::int64_t kInt4Group = 32;  // rows of b that share scale and zero point

struct MatmulInt4Sizes {
  std::int64_t M = 16, N = 64, K = 64;  // 0 or more, K a multiple of 32

  template <typename Self, typename Visit>
  static void fields(Self& s, const Visit& visit) {
    visit("M", s.M, 0), visit("N", s.N, 0), visit("K", s.K, 0);
  }
};

// A launcher's arguments.
struct MatmulInt4Args : MatmulInt4Sizes {
  static constexpr const char* kStorage = "int4";
  const float* a = nullptr;                 // (M, K)
  const std::uint32_t* b_packed = nullptr;  // (K / 8, N)
  const float* scale = nullptr;             // (K / 32, N)
  const std::uint8_t* zero = nullptr;       // (K / 32, N)
  float* c = nullptr;                       // (M, N)

  template <typename Self, typename Visit>
  static void arrays(Self& s, const Visit& visit) {
    visit("a", s.a, {{"m", s.M}, {"k", s.K}});
    visit("b_packed", s.b_packed, {{"word", s.K / 8}, {"n", s.N}});
    visit("scale", s.scale, {{"group", s.K / kInt4Group}, {"n", s.N}});
    visit("zero", s.zero, {{"group", s.K / kInt4Group}, {"n", s.N}});
    visit("c", s.c, {{"m", s.M}, {"n", s.N}});
  }
};

}  // namespace ladder
