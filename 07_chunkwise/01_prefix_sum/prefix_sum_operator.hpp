// Prefix sums as an operator, whose results must be exact.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "07_chunkwise/01_prefix_sum/prefix_sum.hpp"
#include "common/judge/typed.hpp"

namespace chunkwise::prefix_sums {

struct PrefixSumSizes {
  std::int64_t length = 4096, chunk = 64;

  template <typename Self, typename Visit>
  static void fields(Self& s, const Visit& visit) {
    visit("length", s.length, 0), visit("chunk", s.chunk, 1);
  }
};

struct PrefixSumOutputs {
  std::vector<std::int32_t> sums, carry;

  template <typename Self, typename Visit>
  static void arrays(Self& s, const Visit& visit) {
    visit("sums", s.sums), visit("carry", s.carry);
  }
};

struct PrefixSum {
  using Outputs = PrefixSumOutputs;
};

ladder::Verdict judge_prefix_sum(const ladder::Problem& problem, const PrefixSumOutputs& outputs,
                                 ladder::Arithmetic);

}  // namespace chunkwise::prefix_sums
