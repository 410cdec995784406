// Real numbers as 8-bit integers q = r / scale + zero, rounded.
#pragma once

#include <cstdint>

#include "00_warmup/low_bit.hpp"
#include "common/core/arrays.hpp"

namespace warmup {

struct Quantize;  // the operator, in quantize_operator.cpp

struct QuantizeSizes {
  std::int64_t K = 256, N = 96;  // rows and columns of r, 0 or more
  std::int64_t GROUP = 64;       // numbers of a column that share a scale, 1 to kMostGroup
  bool symmetric = false;        // every zero point is 128

  std::int64_t groups() const { return (K + GROUP - 1) / GROUP; }

  template <typename Self, typename Visit>
  static void fields(Self& s, const Visit& visit) {
    visit("K", s.K, 0), visit("N", s.N, 0), visit("GROUP", s.GROUP, 1, kMostGroup);
    visit("symmetric", s.symmetric);
  }
};

struct QuantizeArgs : QuantizeSizes {
  static constexpr const char* kStorage = "fp32";
  const float* r = nullptr;      // (K, N)
  std::uint8_t* q = nullptr;     // (K, N)
  float* scale = nullptr;        // (groups, N)
  std::uint8_t* zero = nullptr;  // (groups, N)

  template <typename Self, typename Visit>
  static void arrays(Self& s, const Visit& visit) {
    visit("r", s.r, {{"k", s.K}, {"n", s.N}});
    visit("q", s.q, {{"k", s.K}, {"n", s.N}});
    visit("scale", s.scale, {{"group", s.groups()}, {"n", s.N}});
    visit("zero", s.zero, {{"group", s.groups()}, {"n", s.N}});
  }
};

}  // namespace warmup
