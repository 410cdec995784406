// Arithmetic device functions. The fast ones have full precision, but a GPU's may be a few ulp off.
#pragma once

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <bit>
#include <cmath>
#include <type_traits>

namespace emulator::detail {

// Keeps the compiler from contracting a product and a sum into an FMA.
template <typename T>
T rounded(T value) {
#if defined(__x86_64__)
  asm("" : "+x"(value));
#elif defined(__aarch64__)
  asm("" : "+w"(value));
#endif
  return value;
}

template <typename A, typename B>
concept Numbers = std::is_arithmetic_v<A> && std::is_arithmetic_v<B>;

}  // namespace emulator::detail

// The C library declares functions with these names, so only macros can replace them.
#define __expf(x) (::expf(x))
#define __exp10f(x) (::powf(10.0f, x))
#define __logf(x) (::logf(x))
#define __log2f(x) (::log2f(x))
#define __log10f(x) (::log10f(x))
#define __sinf(x) (::sinf(x))
#define __cosf(x) (::cosf(x))
#define __tanf(x) (::tanf(x))
#define __powf(x, y) (::powf(x, y))

inline float rsqrtf(float x) {
  return 1.0f / sqrtf(x);
}
inline double rsqrt(double x) {
  return 1.0 / sqrt(x);
}
inline float fdividef(float a, float b) {
  return a / b;
}
inline float __fdividef(float a, float b) {
  return a / b;
}
inline float __fdiv_rn(float a, float b) {
  return a / b;
}
inline float __frcp_rn(float a) {
  return 1.0f / a;
}
inline float __fsqrt_rn(float a) {
  return sqrtf(a);
}
inline float __frsqrt_rn(float a) {
  return static_cast<float>(1.0 / sqrt(static_cast<double>(a)));
}
inline float __fmaf_rn(float a, float b, float c) {
  return fmaf(a, b, c);
}
inline float __fmul_rn(float a, float b) {
  return emulator::detail::rounded(a * b);
}
inline float __fadd_rn(float a, float b) {
  return emulator::detail::rounded(a + b);
}
inline float __fsub_rn(float a, float b) {
  return emulator::detail::rounded(a - b);
}
inline float __saturatef(float x) {
  return x > 0.0f ? (x < 1.0f ? x : 1.0f) : 0.0f;
}

inline int __popc(unsigned x) {
  return std::popcount(x);
}
inline int __popcll(unsigned long long x) {
  return std::popcount(x);
}
inline int __clz(int x) {
  return std::countl_zero(static_cast<unsigned>(x));
}
inline int __clzll(long long x) {
  return std::countl_zero(static_cast<unsigned long long>(x));
}
// Index of the lowest set bit, counted from 1; 0 if no bit is set.
inline int __ffs(int x) {
  return x == 0 ? 0 : std::countr_zero(static_cast<unsigned>(x)) + 1;
}
inline unsigned __brev(unsigned x) {
  unsigned reversed = 0;
  for (int bit = 0; bit < 32; ++bit)
    reversed |= ((x >> bit) & 1u) << (31 - bit);
  return reversed;
}

inline int __float_as_int(float x) {
  return std::bit_cast<int>(x);
}
inline unsigned __float_as_uint(float x) {
  return std::bit_cast<unsigned>(x);
}
inline float __int_as_float(int x) {
  return std::bit_cast<float>(x);
}
inline float __uint_as_float(unsigned x) {
  return std::bit_cast<float>(x);
}
inline long long __double_as_longlong(double x) {
  return std::bit_cast<long long>(x);
}
inline double __longlong_as_double(long long x) {
  return std::bit_cast<double>(x);
}

// As in CUDA, mixed signedness compares as unsigned, and a number is preferred to NaN.
template <typename A, typename B>
requires emulator::detail::Numbers<A, B>
constexpr auto min(A a, B b) {
  using T = std::common_type_t<A, B>;
  if constexpr (std::is_integral_v<T>) {
    return static_cast<T>(a) < static_cast<T>(b) ? static_cast<T>(a) : static_cast<T>(b);
  } else {
    return std::fmin(static_cast<T>(a), static_cast<T>(b));
  }
}
template <typename A, typename B>
requires emulator::detail::Numbers<A, B>
constexpr auto max(A a, B b) {
  using T = std::common_type_t<A, B>;
  if constexpr (std::is_integral_v<T>) {
    return static_cast<T>(a) < static_cast<T>(b) ? static_cast<T>(b) : static_cast<T>(a);
  } else {
    return std::fmax(static_cast<T>(a), static_cast<T>(b));
  }
}
