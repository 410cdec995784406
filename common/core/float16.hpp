// IEEE binary16 on the host, with the same two bytes as __half.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

namespace ladder {

struct float16 {
  std::uint16_t bits = 0;
};

inline float to_float(float16 value) {
  const std::uint32_t sign = std::uint32_t{value.bits & 0x8000u} << 16;
  const std::uint32_t exponent = value.bits >> 10 & 0x1fu, mantissa = value.bits & 0x3ffu;
  if (exponent == 0) {  // zero or subnormal: a multiple of 2^-24
    const float magnitude = std::ldexp(static_cast<float>(mantissa), -24);
    return std::bit_cast<float>(std::bit_cast<std::uint32_t>(magnitude) | sign);
  }
  const std::uint32_t wide = exponent == 0x1fu ? 0xffu : exponent + 112;
  return std::bit_cast<float>(sign | wide << 23 | mantissa << 13);
}

// Rounds to nearest, ties to even, and to infinity above 65504. A NaN stays a NaN.
inline float16 to_float16(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const auto sign = static_cast<std::uint16_t>(bits >> 16 & 0x8000u);
  const float magnitude = std::abs(value);
  if (std::isnan(value)) return {static_cast<std::uint16_t>(sign | 0x7e00u)};
  if (magnitude >= 65520.0f) return {static_cast<std::uint16_t>(sign | 0x7c00u)};
  if (magnitude < 0x1p-14f) {  // adding 2^-1 rounds to a multiple of 2^-24
    const float sum = magnitude + 0.5f;
    const auto rounded = std::bit_cast<std::uint32_t>(sum) - std::bit_cast<std::uint32_t>(0.5f);
    return {static_cast<std::uint16_t>(sign | rounded)};
  }
  const std::uint32_t shifted = (bits & 0x7fffffffu) - (112u << 23);
  return {static_cast<std::uint16_t>(sign | (shifted + 0xfffu + (shifted >> 13 & 1u)) >> 13)};
}

}  // namespace ladder
