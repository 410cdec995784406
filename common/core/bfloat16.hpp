// bfloat16 on the host. It is the upper half of a float, with the same two bytes as __nv_bfloat16.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

namespace ladder {

struct bfloat16 {
  std::uint16_t bits = 0;
};

// Rounds to nearest, ties to even. A NaN stays a NaN.
inline bfloat16 to_bfloat16(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  if (std::isnan(value)) return {static_cast<std::uint16_t>(bits >> 16 | 0x40u)};
  return {static_cast<std::uint16_t>((bits + 0x7fffu + (bits >> 16 & 1u)) >> 16)};
}

inline float to_float(bfloat16 value) {
  return std::bit_cast<float>(std::uint32_t{value.bits} << 16);
}
inline float to_float(float value) {
  return value;
}

}  // namespace ladder
