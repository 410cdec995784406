// Fills outputs before a launch with a NaN with its own bits, which distinguish it from a computed
// NaN. It is signaling, so IEEE 754 arithmetic with it sets one more bit, which shows too.
#pragma once

#include <bit>
#include <cstdint>

namespace ladder {

inline constexpr std::uint32_t kPoisonBits = 0x7fa50000u;  // the upper half is bfloat16's
inline constexpr std::uint16_t kPoisonFloat16Bits = 0x7d28u;
inline constexpr std::uint32_t kQuietBit = 0x00400000u;

inline bool is_never_written(float x) {
  return std::bit_cast<std::uint32_t>(x) == kPoisonBits;
}

// Computed from an unwritten element, on a processor that keeps a NaN's bits. (A GPU does not.)
inline bool is_of_never_written(float x) {
  return (std::bit_cast<std::uint32_t>(x) & 0x7fffffffu) == (kPoisonBits | kQuietBit);
}

}  // namespace ladder
