// Results of changing one thing in an operator's formula. Each operator has one loop in double with
// a struct of switches, and a variant is a named change of the switches. A variant is needed if its
// name says more than a probe of the kernel's inputs can (common/diagnosis/probe.hpp).
#pragma once

#include <bit>
#include <cstdint>
#include <functional>
#include <string>
#include <type_traits>
#include <vector>

#include "common/core/poison.hpp"

namespace ladder {

template <typename Switches>
struct Variant {
  std::string words;  // "with the bonus forgotten", after "equals the result "
  std::string line;   // the line of code that typically causes it
  std::function<void(Switches&)> change;
};

template <typename Switches>
using Variants = std::vector<Variant<Switches>>;

// Collects an operator's variants.
template <typename Switches>
struct VariantList {
  Variants<Switches> list = {};

  void add(const std::string& words, const std::string& line,
           const std::function<void(Switches&)>& change) {
    list.push_back({words, line, change});
  }
  // One switch has another value.
  template <typename Value>
  void add(const std::string& words, const std::string& line, Value Switches::*which,
           std::type_identity_t<Value> value) {
    add(words, line, [=](Switches& s) { s.*which = value; });
  }
};

// An unwritten element of a mistake's answer, a NaN with its own bits, not a computed one.
inline constexpr double kUnwritten = std::bit_cast<double>(0x7ff8'0000'0000'7fa5u);

inline bool is_unwritten(double x) {
  return std::bit_cast<std::uint64_t>(x) == std::bit_cast<std::uint64_t>(kUnwritten);
}

// The contents of an output for a mistake's answer x, before rounding.
inline float held(double x) {
  return is_unwritten(x) ? std::bit_cast<float>(kPoisonBits) : static_cast<float>(x);
}

// The dot product of two rows, in four sums that a processor can compute in parallel.
template <typename Number>
Number dot(const std::vector<Number>& a, const std::vector<Number>& b) {
  Number sums[4] = {};
  for (std::size_t j = 0; j < a.size(); ++j)
    sums[j % 4] += a[j] * b[j];
  return sums[0] + sums[1] + (sums[2] + sums[3]);
}

}  // namespace ladder
