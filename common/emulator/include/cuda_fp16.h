// Replaces the CUDA Toolkit's header, with its names and its rounding.
#pragma once

#include "emulator/float16.hpp"

using __half = emulator::detail::Float16<emulator::detail::Binary16>;
using __half2 = emulator::detail::Float16Pair<emulator::detail::Binary16>;
using half = __half;
using half2 = __half2;

inline __half __float2half(float value) {
  return value;
}
inline __half __float2half_rn(float value) {
  return value;
}
inline __half __double2half(double value) {
  return value;
}
inline float __half2float(__half value) {
  return value;
}
inline __half2 __float2half2_rn(float value) {
  return emulator::detail::to_pair<__half2>(value, value);
}
inline __half2 __floats2half2_rn(float first, float second) {
  return emulator::detail::to_pair<__half2>(first, second);
}
inline __half2 __float22half2_rn(float2 values) {
  return emulator::detail::to_pair<__half2>(values.x, values.y);
}
inline float2 __half22float2(__half2 pair) {
  return emulator::detail::to_floats(pair);
}

inline __half2 make_half2(__half first, __half second) {
  return {first, second};
}
inline __half2 __halves2half2(__half first, __half second) {
  return {first, second};
}
inline __half2 __half2half2(__half value) {
  return {value, value};
}
inline __half __low2half(__half2 pair) {
  return pair.x;
}
inline __half __high2half(__half2 pair) {
  return pair.y;
}

inline unsigned short __half_as_ushort(__half value) {
  return value.bits;
}
inline __half __ushort_as_half(unsigned short bits) {
  return __half::from_bits(bits);
}
