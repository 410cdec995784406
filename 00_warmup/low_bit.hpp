// C = A W, with the weights W stored in 8 or 4 bits, for all lessons that compute this product.
#pragma once

#include <cstdint>

#include "common/core/arrays.hpp"

namespace warmup {

template <int kBits>
struct LowBit;  // int8_matmul and int4_matmul, in low_bit_operator.cpp

// Weights of four bits are packed, 8 of a column in a 32-bit word, the first in its lowest bits.
constexpr std::int64_t kNibbles = 8;

// The largest GROUP, so that K + GROUP fits 64 bits.
constexpr std::int64_t kMostGroup = std::int64_t{1} << 40;

struct LowBitSizes {
  // All 0 or more. Rows of A and C, columns of C and W, columns of A and rows of W.
  std::int64_t M = 48, N = 64, K = 256;
  std::int64_t GROUP =
      64;  // weights of a column that share a scale and a zero point, 1 to kMostGroup
  bool symmetric = false;  // all zero points are in the middle, and no product reads them

  std::int64_t groups() const { return (K + GROUP - 1) / GROUP; }
  std::int64_t words() const { return (K + kNibbles - 1) / kNibbles; }  // per packed column

  template <typename Self, typename Visit>
  static void fields(Self& s, const Visit& visit) {
    visit("M", s.M, 0), visit("N", s.N, 0), visit("K", s.K, 0),
        visit("GROUP", s.GROUP, 1, kMostGroup);
    visit("symmetric", s.symmetric);
  }
};

// W(k, n) = scale(g, n) * (q - zero(g, n)) with q from w and g = k / GROUP.
template <int kBits>
struct LowBitArgs : LowBitSizes {
  static constexpr const char* kStorage = "fp32";
  const float* a = nullptr;            // (M, K)
  const std::uint8_t* w = nullptr;     // (K, N); weights of 4 bits: (words, N), 4 bytes per word
  const float* scale = nullptr;        // (groups, N)
  const std::uint8_t* zero = nullptr;  // (groups, N), null if all are 128 (4 bits: 8)
  float* c = nullptr;                  // (M, N)

  template <typename Self, typename Visit>
  static void arrays(Self& s, const Visit& visit) {
    visit("a", s.a, {{"m", s.M}, {"k", s.K}});
    visit("w", s.w,
          {{"k", kBits == 4 ? s.words() : s.K}, {"n", s.N}, {"byte", kBits == 4 ? 4 : 1}});
    visit("scale", s.scale, {{"group", s.groups()}, {"n", s.N}});
    visit("zero", s.zero, {{"group", s.groups()}, {"n", s.N}}, ladder::Presence::kOptional);
    visit("c", s.c, {{"m", s.M}, {"n", s.N}});
  }
};

}  // namespace warmup
