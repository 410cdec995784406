#include "emulator/float16.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace emulator::detail {
namespace {

constexpr std::uint16_t kNan = 0x7fff;
constexpr int kDoubleBias = 1023;
constexpr int kDoubleMantissa = 52;

double power_of_two(int exponent) {
  return std::bit_cast<double>(static_cast<std::uint64_t>(exponent + kDoubleBias)
                               << kDoubleMantissa);
}

// `mantissa`: stored bits; `smallest`: exponent of the smallest normal number.
std::uint16_t encode(double value, int mantissa, int smallest) {
  if (std::isnan(value)) return kNan;
  const unsigned sign = std::signbit(value) ? 0x8000u : 0u;
  const int largest = 1 - smallest;
  const double magnitude = std::fabs(value);
  if (magnitude >= power_of_two(largest + 1)) {
    const unsigned infinity = (1u << (15 - mantissa)) - 1;  // all bits of the exponent
    return static_cast<std::uint16_t>(sign | infinity << mantissa);
  }
  const int own = static_cast<int>(std::bit_cast<std::uint64_t>(magnitude) >> kDoubleMantissa);
  const int exponent = std::max(own - kDoubleBias, smallest);
  // The sum's last bit is one step of the format, so its mantissa counts the rounded steps.
  const double sum = magnitude + power_of_two(exponent + kDoubleMantissa - mantissa);
  const std::uint64_t steps =
      std::bit_cast<std::uint64_t>(sum) & ((std::uint64_t{1} << kDoubleMantissa) - 1);
  // A carry out of the mantissa increments the exponent, from the largest number to infinity.
  return static_cast<std::uint16_t>(
      sign | ((static_cast<unsigned>(exponent - smallest) << mantissa) + steps));
}

}  // namespace

std::uint16_t Binary16::encode(double value) {
  return detail::encode(value, 10, -14);
}
std::uint16_t Bfloat16::encode(double value) {
  return detail::encode(value, 7, -126);
}

float Binary16::decode(std::uint16_t bits) {
  const std::uint32_t magnitude = bits & 0x7fffu;
  if (magnitude > 0x7c00u) return std::bit_cast<float>(0x7fffffffu);
  // Moves the fields to a float's bits, then corrects the bias. This handles denormal numbers, too.
  const float value = magnitude == 0x7c00u ? std::numeric_limits<float>::infinity()
                                           : std::bit_cast<float>(magnitude << 13) * 0x1p112f;
  return (bits & 0x8000u) != 0 ? -value : value;
}

// Rounds to odd, that is, an inexact sum becomes the neighbouring double whose last bit is odd.
double fused_multiply_add(float a, float b, float c) {
  const double product = double{a} * double{b};  // exact
  const double sum = product + c;
  if (!std::isfinite(sum)) return sum;
  const double rest = sum - product;
  const double error = (product - (sum - rest)) + (c - rest);
  if (error == 0 || (std::bit_cast<std::uint64_t>(sum) & 1) != 0) return sum;
  return std::nextafter(sum, error > 0 ? std::numeric_limits<double>::infinity()
                                       : -std::numeric_limits<double>::infinity());
}

}  // namespace emulator::detail
