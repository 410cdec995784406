// C = act(A B + bias), one product of two matrices, for every lesson that computes it.
#pragma once

#include <cstdint>

#include "common/core/arrays.hpp"
#include "common/core/bfloat16.hpp"

namespace warmup {

struct Matmul;  // the operator, in matmul_operator.cpp

struct MatmulSizes {
  // All 0 or more. Rows of A and C, columns of B and C, columns of A and rows of B.
  std::int64_t M = 192, N = 160, K = 64;
  bool with_bias = false;  // one number per column of C is added
  bool relu = false;       // act is max(0, x), which keeps NaN, otherwise the identity

  template <typename Self, typename Visit>
  static void fields(Self& s, const Visit& visit) {
    visit("M", s.M, 0), visit("N", s.N, 0), visit("K", s.K, 0);
    visit("with_bias", s.with_bias), visit("relu", s.relu);
  }
};

template <typename Element>
inline constexpr const char* kMatmulStorage = "fp32";
template <>
inline constexpr const char* kMatmulStorage<ladder::bfloat16> = "bf16";

// `Element` is the storage of matrices and bias. Sums are fp32.
template <typename Element>
struct BasicMatmulArgs : MatmulSizes {
  static constexpr const char* kStorage = kMatmulStorage<Element>;
  const Element* a = nullptr;     // (M, K)
  const Element* b = nullptr;     // (K, N)
  const Element* bias = nullptr;  // (N), null without one
  Element* c = nullptr;           // (M, N)

  template <typename Self, typename Visit>
  static void arrays(Self& s, const Visit& visit) {
    visit("a", s.a, {{"m", s.M}, {"k", s.K}});
    visit("b", s.b, {{"k", s.K}, {"n", s.N}});
    visit("bias", s.bias, {{"n", s.N}}, ladder::Presence::kOptional);
    visit("c", s.c, {{"m", s.M}, {"n", s.N}});
  }
};

using MatmulArgs = BasicMatmulArgs<float>;
using MatmulBf16Args = BasicMatmulArgs<ladder::bfloat16>;

}  // namespace warmup
