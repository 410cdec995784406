// c = act(a b + bias) for each of B batches. Each batch has its own matrix a, and all share b.
#pragma once

#include <cstdint>

#include "common/core/arrays.hpp"

namespace warmup {

struct BatchedMatmul;  // the operator, in batched_matmul_operator.cpp

struct BatchedMatmulSizes {
  // All 0 or more. Batches, rows of a and c, columns of b and c, columns of a and rows of b.
  std::int64_t B = 4, M = 48, N = 160, K = 64;
  bool with_bias = false;  // one number per column of c is added
  bool gelu = false;       // act is x Phi(x), otherwise the identity

  template <typename Self, typename Visit>
  static void fields(Self& s, const Visit& visit) {
    visit("B", s.B, 0), visit("M", s.M, 0), visit("N", s.N, 0), visit("K", s.K, 0);
    visit("with_bias", s.with_bias), visit("gelu", s.gelu);
  }
};

struct BatchedMatmulArgs : BatchedMatmulSizes {
  static constexpr const char* kStorage = "fp32";
  const float* a = nullptr;     // (B, M, K)
  const float* b = nullptr;     // (K, N)
  const float* bias = nullptr;  // (N), null without one
  float* c = nullptr;           // (B, M, N)

  template <typename Self, typename Visit>
  static void arrays(Self& s, const Visit& visit) {
    visit("a", s.a, {{"b", s.B}, {"m", s.M}, {"k", s.K}});
    visit("b", s.b, {{"k", s.K}, {"n", s.N}});
    visit("bias", s.bias, {{"n", s.N}}, ladder::Presence::kOptional);
    visit("c", s.c, {{"b", s.B}, {"m", s.M}, {"n", s.N}});
  }
};

}  // namespace warmup
