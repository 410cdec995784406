// Prefix sums as an operator, whose results must be exact.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "07_chunkwise/01_prefix_sum/prefix_sum.hpp"
#include "common/judge/simple_operator.hpp"

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

struct PrefixSum : ladder::SimpleOperator<PrefixSum, PrefixSumSizes, PrefixSumArgs, PrefixSumArgs> {
  static constexpr const char* kName = "prefix_sum";
  using Outputs = PrefixSumOutputs;

  static Case make_case(const Sizes& sizes) {
    Case c{sizes};
    c.precision = PrefixSumArgs::kStorage;
    return c;
  }
  static PrefixSumArgs sizes(const Case& c) { return {.length = c.length, .chunk = c.chunk}; }
  // From -50 to 50.
  static void draw(const Case& c, const std::string& name, std::vector<std::int32_t>& x,
                   ladder::Generator& generator);
  static double fma_count(const PrefixSumArgs& args) {
    return 2.0 * static_cast<double>(args.length);  // additions: in its chunk, and of the carry
  }
  static constexpr bool kJudgesItself = true;
  static ladder::Verdict judge(const ladder::Drawn<PrefixSum>& problem, const Outputs& outputs,
                               ladder::Arithmetic);
};

}  // namespace chunkwise::prefix_sums
