// Random problems: sizes at and around every tile's border, options, values from 1e-22 to 1e18, one bad value.
#pragma once

#include <cstdint>
#include <optional>
#include <random>
#include <string>
#include <variant>

#include "common/operators/attention/problem.hpp"
#include "common/operators/linear_attention/problem.hpp"
#include "common/operators/wkv/problem.hpp"

namespace ladder::fuzz {

// The same numbers on every machine: the standard's distributions are not.
class Random {
 public:
  Random(std::uint64_t seed, std::uint64_t index);
  std::uint64_t below(std::uint64_t n) { return engine_() % n; }
  bool one_in(std::uint64_t n) { return below(n) == 0; }
  float between(float low, float high);
  template <typename Element, std::size_t kCount>
  Element one_of(const Element (&elements)[kCount]) {
    return elements[below(kCount)];
  }

 private:
  std::mt19937_64 engine_;
};

using Problem = std::variant<WkvProblem, WkvGradProblem, LinearAttentionProblem, AttentionProblem,
                             AttentionGradProblem>;

// One element that is NaN or infinite. What belongs to other heads, and to other batches or sequences, must not change.
struct BadValue {
  std::string array;
  std::int64_t element = 0;
  float value = 0;
  std::int64_t head = 0;      // of the operator's heads: for softmax attention the key head
  std::int64_t sequence = 0;  // batch or packed sequence; -1: all of them
};

struct Draw {
  std::string op;  // "wkv", "gla_backward", "linear_attention", ...
  std::string name = {};
  Problem problem = {};
  std::optional<BadValue> bad = {};
};

// The case `index` of the run `seed`.
Draw draw(std::uint64_t seed, std::uint64_t index);

// The problem with the bad value in its place.
Problem spoiled(Problem problem, const BadValue& bad);

}  // namespace ladder::fuzz
