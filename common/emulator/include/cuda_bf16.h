// Replaces the CUDA Toolkit's header, with its names and its rounding.
#pragma once

#include "emulator/float16.hpp"

using __nv_bfloat16 = emulator::detail::Float16<emulator::detail::Bfloat16>;
using __nv_bfloat162 = emulator::detail::Float16Pair<emulator::detail::Bfloat16>;
using nv_bfloat16 = __nv_bfloat16;
using nv_bfloat162 = __nv_bfloat162;

inline __nv_bfloat16 __float2bfloat16(float value) {
  return value;
}
inline __nv_bfloat16 __float2bfloat16_rn(float value) {
  return value;
}
inline __nv_bfloat16 __double2bfloat16(double value) {
  return value;
}
inline float __bfloat162float(__nv_bfloat16 value) {
  return value;
}
inline __nv_bfloat162 __float2bfloat162_rn(float value) {
  return emulator::detail::to_pair<__nv_bfloat162>(value, value);
}
inline __nv_bfloat162 __floats2bfloat162_rn(float first, float second) {
  return emulator::detail::to_pair<__nv_bfloat162>(first, second);
}
inline __nv_bfloat162 __float22bfloat162_rn(float2 values) {
  return emulator::detail::to_pair<__nv_bfloat162>(values.x, values.y);
}
inline float2 __bfloat1622float2(__nv_bfloat162 pair) {
  return emulator::detail::to_floats(pair);
}

inline __nv_bfloat162 make_bfloat162(__nv_bfloat16 first, __nv_bfloat16 second) {
  return {first, second};
}
inline __nv_bfloat162 __halves2bfloat162(__nv_bfloat16 first, __nv_bfloat16 second) {
  return {first, second};
}
inline __nv_bfloat162 __bfloat162bfloat162(__nv_bfloat16 value) {
  return {value, value};
}
inline __nv_bfloat16 __low2bfloat16(__nv_bfloat162 pair) {
  return pair.x;
}
inline __nv_bfloat16 __high2bfloat16(__nv_bfloat162 pair) {
  return pair.y;
}

inline unsigned short __bfloat16_as_ushort(__nv_bfloat16 value) {
  return value.bits;
}
inline __nv_bfloat16 __ushort_as_bfloat16(unsigned short bits) {
  return __nv_bfloat16::from_bits(bits);
}
