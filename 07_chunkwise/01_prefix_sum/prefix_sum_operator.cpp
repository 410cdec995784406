#include "07_chunkwise/01_prefix_sum/prefix_sum_operator.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "common/core/generator.hpp"

namespace chunkwise::prefix_sums {

namespace {

using Case = ladder::SizedCase<PrefixSumSizes>;
using Integers = std::vector<std::int32_t>;

// Names the misconception that leads to these sums, "" if none is known.
std::string misconception(const Integers& x, std::int64_t chunk, const Integers& is) {
  const auto length = static_cast<std::int64_t>(x.size());
  Integers local(x.size());
  for (std::int64_t i = 0; i < length; ++i)
    local[i] = x[i] + (i % chunk == 0 ? 0 : local[i - 1]);
  const auto equals = [&](const auto& carry_of) {
    std::int32_t before = 0, previous = 0;
    for (std::int64_t first = 0; first < length; first += chunk) {
      const std::int64_t end = std::min(first + chunk, length);
      const std::int32_t own = local[end - 1], carry = carry_of(before, previous, own);
      for (std::int64_t i = first; i < end; ++i) {
        if (is[i] != local[i] + carry) return false;
      }
      before += own, previous = own;
    }
    return true;
  };
  if (equals([](auto, auto, auto) { return 0; }))
    return "equals the local sums: no carry is added, or one that is 0\n";
  if (equals([](auto before, auto, auto own) { return before + own; }))
    return "equals the sums with a carry that has the chunk's own sum in it\n";
  if (equals([](auto, auto previous, auto) { return previous; }))
    return "equals the sums with a carry from one chunk only, the one before\n";
  return "";
}

// From -50 to 50.
bool draw(ladder::Problem& problem, const std::string& input, ladder::Generator& generator) {
  for (std::int32_t& each : problem.array<std::int32_t>(input))
    each = static_cast<std::int32_t>(std::floor(generator.uniform(-50.0f, 50.999f)));
  return true;
}

}  // namespace

ladder::Verdict judge_prefix_sum(const ladder::Problem& problem, const PrefixSumOutputs& outputs,
                                 ladder::Arithmetic) {
  const std::int64_t chunk = problem.as<Case>().chunk;
  const Integers& x = problem.array<std::int32_t>("x");
  Integers sums(x.size()), carry;
  std::partial_sum(x.begin(), x.end(), sums.begin());
  for (std::size_t first = 0; first < sums.size(); first += static_cast<std::size_t>(chunk))
    carry.push_back(first == 0 ? 0 : sums[first - 1]);
  ladder::Verdict verdict;
  const auto compare = [&](const char* name, const Integers& is, const Integers& should) {
    if (is.size() != should.size())
      verdict.message = std::string("WRONG RESULT: ") + name + " has the wrong size\n";
    for (std::size_t i = 0; verdict.message.empty() && i < is.size(); ++i) {
      if (is[i] != should[i])
        verdict.message = std::string("WRONG RESULT in ") + name + "\nfirst bad element: " + name +
                          "(i=" + std::to_string(i) + ") is " + std::to_string(is[i]) +
                          ", should be " + std::to_string(should[i]) + "\n";
    }
  };
  compare("sums", outputs.sums, sums);
  if (!verdict.message.empty() && outputs.sums.size() == x.size())
    verdict.message += misconception(x, chunk, outputs.sums);
  compare("carry", outputs.carry, carry);
  verdict.right = verdict.message.empty();
  return verdict;
}

namespace {

const ladder::OperatorRegistration registration(
    ladder::with_types<PrefixSum, PrefixSumSizes, PrefixSumArgs, PrefixSumArgs>({
        .name = "prefix_sum",
        .case_with =
            [](const ladder::Struct& sizes) {
              return ladder::Struct(Case{sizes.as<PrefixSumSizes>(), PrefixSumArgs::kStorage});
            },
        .host =
            [](const ladder::Struct& value) {
              const Case& c = value.as<Case>();
              return ladder::Struct(PrefixSumArgs{.length = c.length, .chunk = c.chunk});
            },
        // Additions within chunks, and of the carries.
        .fma_count =
            [](const ladder::Struct& host) {
              return 2.0 * static_cast<double>(host.as<PrefixSumArgs>().length);
            },
        .draw_input = draw,
        .own_judge = ladder::judge_by(judge_prefix_sum),
    }));

}  // namespace

}  // namespace chunkwise::prefix_sums
