// The 16-bit types IEEE binary16 and bfloat16, and pairs of them. Each operation rounds its exact
// result once, to nearest with ties to even. A computed NaN is always 0x7fff, as on the GPU.
#pragma once

#include <bit>
#include <cstdint>
#include <type_traits>

#include "emulator/vector_types.hpp"

namespace emulator::detail {

struct Binary16 {
  static std::uint16_t encode(double value);
  static float decode(std::uint16_t bits);
};
struct Bfloat16 {
  static std::uint16_t encode(double value);
  static float decode(std::uint16_t bits) {
    return std::bit_cast<float>(std::uint32_t{bits} << 16);
  }
};

// a * b + c, rounded so that rounding it to 16 bits is the same as rounding the exact value.
double fused_multiply_add(float a, float b, float c);

// A double holds these exactly. It does not hold 64-bit integers, so they are not converted.
template <typename T>
concept ExactInDouble = std::is_arithmetic_v<T> &&
                        sizeof(T) <= (std::is_floating_point_v<T> ? 8 : 4);

// Implicit both ways as in CUDA's headers, so expressions that mix it with float are ambiguous.
template <typename Format>
struct Float16 {
  Float16() = default;
  template <ExactInDouble T>
  Float16(T value) : bits(Format::encode(static_cast<double>(value))) {}
  operator float() const { return Format::decode(bits); }

  static Float16 from_bits(unsigned short bits) {
    Float16 result;
    result.bits = bits;
    return result;
  }

  Float16 operator+() const { return *this; }
  Float16 operator-() const { return from_bits(static_cast<unsigned short>(bits ^ 0x8000)); }
  Float16& operator+=(Float16 b) { return *this = *this + b; }
  Float16& operator-=(Float16 b) { return *this = *this - b; }
  Float16& operator*=(Float16 b) { return *this = *this * b; }
  Float16& operator/=(Float16 b) { return *this = *this / b; }

  // With a double's 53 bits, rounding twice gives the same as rounding once in these four.
  friend Float16 operator+(Float16 a, Float16 b) { return a.number() + b.number(); }
  friend Float16 operator-(Float16 a, Float16 b) { return a.number() - b.number(); }
  friend Float16 operator*(Float16 a, Float16 b) { return a.number() * b.number(); }
  friend Float16 operator/(Float16 a, Float16 b) { return a.number() / b.number(); }

  friend bool operator==(Float16 a, Float16 b) { return a.number() == b.number(); }
  friend bool operator!=(Float16 a, Float16 b) { return a.number() != b.number(); }
  friend bool operator<(Float16 a, Float16 b) { return a.number() < b.number(); }
  friend bool operator>(Float16 a, Float16 b) { return a.number() > b.number(); }
  friend bool operator<=(Float16 a, Float16 b) { return a.number() <= b.number(); }
  friend bool operator>=(Float16 a, Float16 b) { return a.number() >= b.number(); }

  friend Float16 __hadd(Float16 a, Float16 b) { return a + b; }
  friend Float16 __hsub(Float16 a, Float16 b) { return a - b; }
  friend Float16 __hmul(Float16 a, Float16 b) { return a * b; }
  friend Float16 __hdiv(Float16 a, Float16 b) { return a / b; }
  friend Float16 __hfma(Float16 a, Float16 b, Float16 c) { return fused_multiply_add(a, b, c); }

  unsigned short bits;

 private:
  double number() const { return Format::decode(bits); }
};

template <typename Format>
struct alignas(4) Float16Pair {
  using Element = Float16<Format>;

  Float16Pair() = default;
  Float16Pair(Element first, Element second) : x(first), y(second) {}

  friend Float16Pair operator+(Float16Pair a, Float16Pair b) { return {a.x + b.x, a.y + b.y}; }
  friend Float16Pair operator-(Float16Pair a, Float16Pair b) { return {a.x - b.x, a.y - b.y}; }
  friend Float16Pair operator*(Float16Pair a, Float16Pair b) { return {a.x * b.x, a.y * b.y}; }
  friend Float16Pair operator/(Float16Pair a, Float16Pair b) { return {a.x / b.x, a.y / b.y}; }

  friend Float16Pair __hadd2(Float16Pair a, Float16Pair b) { return a + b; }
  friend Float16Pair __hsub2(Float16Pair a, Float16Pair b) { return a - b; }
  friend Float16Pair __hmul2(Float16Pair a, Float16Pair b) { return a * b; }
  friend Float16Pair __hfma2(Float16Pair a, Float16Pair b, Float16Pair c) {
    return {__hfma(a.x, b.x, c.x), __hfma(a.y, b.y, c.y)};
  }
  friend float __low2float(Float16Pair pair) { return pair.x; }
  friend float __high2float(Float16Pair pair) { return pair.y; }

  Element x;
  Element y;
};

template <typename Pair>
Pair to_pair(float first, float second) {
  return {typename Pair::Element(first), typename Pair::Element(second)};
}
template <typename Pair>
float2 to_floats(Pair pair) {
  return {pair.x, pair.y};
}

}  // namespace emulator::detail
