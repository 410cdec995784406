// c = a b + bias for each of B batches. Each batch has its own matrix b, and all share a.
#pragma once

#include <cstdint>

#include "common/core/arrays.hpp"

namespace warmup {

struct SharedAMatmul;  // the operator, in shared_a_operator.cpp

struct SharedAMatmulSizes {
  // All 0 or more. Batches, rows of a and c, columns of b and c, columns of a and rows of b.
  std::int64_t B = 8, M = 64, N = 49, K = 64;
  bool with_bias = false;  // one number per batch is added

  template <typename Self, typename Visit>
  static void fields(Self& s, const Visit& visit) {
    visit("B", s.B, 0), visit("M", s.M, 0), visit("N", s.N, 0), visit("K", s.K, 0);
    visit("with_bias", s.with_bias);
  }
};

struct SharedAMatmulArgs : SharedAMatmulSizes {
  static constexpr const char* kStorage = "fp32";
  const float* a = nullptr;     // (M, K)
  const float* b = nullptr;     // (B, K, N)
  const float* bias = nullptr;  // (B), null without one
  float* c = nullptr;           // (B, M, N)

  template <typename Self, typename Visit>
  static void arrays(Self& s, const Visit& visit) {
    visit("a", s.a, {{"m", s.M}, {"k", s.K}});
    visit("b", s.b, {{"b", s.B}, {"k", s.K}, {"n", s.N}});
    visit("bias", s.bias, {{"b", s.B}}, ladder::Presence::kOptional);
    visit("c", s.c, {{"b", s.B}, {"m", s.M}, {"n", s.N}});
  }
};

}  // namespace warmup
