// What somebody gets who changes one thing of an operator's formula. Each operator has one loop in double with a struct of switches; a
// variant is a change of these switches, and what a result with it is called. There is one where its name says more than what the kernel
// is seen to take from its inputs when it is run (common/diagnosis/probe.hpp).
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
  std::string words;  // "with the bonus forgotten", behind "equals the result "
  std::string line;   // of code, where it is typically made
  std::function<void(Switches&)> change;
};

template <typename Switches>
using Variants = std::vector<Variant<Switches>>;

// How an operator writes them down.
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

// Elements of a mistake's result that nobody has written: a NaN with bits of its own. Those that are another NaN, or infinite, were
// computed.
inline constexpr double kUnwritten = std::bit_cast<double>(0x7ff8'0000'0000'7fa5u);

inline bool is_unwritten(double x) {
  return std::bit_cast<std::uint64_t>(x) == std::bit_cast<std::uint64_t>(kUnwritten);
}

// What an output holds where a mistake's answer is x, before it is rounded.
inline float held(double x) {
  return is_unwritten(x) ? std::bit_cast<float>(kPoisonBits) : static_cast<float>(x);
}

// The product of two rows of one width, in four sums, which a processor adds to side by side.
template <typename Number>
Number dot(const std::vector<Number>& a, const std::vector<Number>& b) {
  Number sums[4] = {};
  for (std::size_t j = 0; j < a.size(); ++j)
    sums[j % 4] += a[j] * b[j];
  return sums[0] + sums[1] + (sums[2] + sums[3]);
}

}  // namespace ladder
