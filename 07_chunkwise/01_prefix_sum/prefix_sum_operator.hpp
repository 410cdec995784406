// Prefix sums as an operator, whose results must be exact.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "07_chunkwise/01_prefix_sum/prefix_sum.hpp"
#include "common/core/operator.hpp"

namespace chapter07::prefix_sums {

struct PrefixSumSizes {
  std::int64_t length = 4096, chunk = 64;

  template <typename Self, typename Visit>
  static void fields(Self& s, const Visit& visit) {
    visit("length", s.length, 0), visit("chunk", s.chunk, 1);
  }
};

struct PrefixSumCase : PrefixSumSizes {
  std::string precision = "int32";
  std::uint32_t seed = 1;
};

struct PrefixSumOutputs {
  std::vector<std::int32_t> sums, carry;

  template <typename Self, typename Visit>
  static void arrays(Self& s, const Visit& visit) {
    visit("sums", s.sums), visit("carry", s.carry);
  }
};

struct PrefixSumProblem {
  PrefixSumCase sum_case;
  std::vector<std::int32_t> x;  // (length)
};

struct PrefixSum {
  static constexpr const char* kName = "prefix_sum";
  using Sizes = PrefixSumSizes;
  using Case = PrefixSumCase;
  using Problem = PrefixSumProblem;
  using Outputs = PrefixSumOutputs;
  using Storages = ladder::Types<PrefixSumArgs>;

  static Case make_case(const Sizes& sizes) { return {sizes}; }
  static Problem make_problem(const Case& c);  // x from -50 to 50
  static const Case& case_of(const Problem& problem) { return problem.sum_case; }
  static PrefixSumArgs sizes(const Case& c) { return {.length = c.length, .chunk = c.chunk}; }
  static PrefixSumArgs args(const Problem& problem);
  static double fma_count(const PrefixSumArgs& args) {
    return 2.0 * static_cast<double>(args.length);  // additions: in its chunk, and of the carry
  }
  static ladder::Verdict judge(const Problem& problem, const Outputs& outputs, ladder::Arithmetic);
};

}  // namespace chapter07::prefix_sums
