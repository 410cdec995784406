// Prefix sums in chunks, the hello world of this chapter: sums[i] = x[0] + ... + x[i].
#pragma once

#include <cstdint>

#include "common/core/arrays.hpp"

namespace chunkwise::prefix_sums {

struct PrefixSum;  // the operator: prefix_sum_operator.hpp

// Integers, so that every order of additions gives the same sum.
struct PrefixSumArgs {
  std::int64_t length = 0;  // 0 or more
  std::int64_t chunk = 0;   // elements per chunk, 1 or more; the last chunk may be shorter

  const std::int32_t* x = nullptr;  // (length)
  std::int32_t* sums = nullptr;     // (length)
  std::int32_t* carry = nullptr;    // (ceil(length / chunk)), the sum of all earlier chunks

  static constexpr const char* kStorage = "int32";

  template <typename Self, typename Visit>
  static void fields(Self& s, const Visit& visit) {
    visit("length", s.length, 0), visit("chunk", s.chunk, 1);
  }
  template <typename Self, typename Visit>
  static void arrays(Self& s, const Visit& visit) {
    visit("x", s.x, {{"i", s.length}});
    visit("sums", s.sums, {{"i", s.length}});
    visit("carry", s.carry,
          {{"chunk", s.chunk > 0 ? s.length / s.chunk + (s.length % s.chunk != 0) : 0}});
  }
};

// The three steps. Each reads the results of the previous one.
void local_sums(const PrefixSumArgs& args);  // sums, as if every chunk began at zero
void carry(const PrefixSumArgs& args);
void adjust(const PrefixSumArgs& args);  // adds a chunk's carry to its sums

// All three. Throws std::invalid_argument for a negative length, a chunk of no elements or a null
// pointer.
void prefix_sum(const PrefixSumArgs& args);

}  // namespace chunkwise::prefix_sums
