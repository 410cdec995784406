#include "07_chunkwise/01_prefix_sum/prefix_sum_operator.hpp"

#include <cmath>
#include <numeric>

namespace chunkwise::prefix_sums {

void PrefixSum::draw(const Case&, const std::string&, std::vector<std::int32_t>& x,
                     ladder::Generator& generator) {
  for (std::int32_t& each : x)
    each = static_cast<std::int32_t>(std::floor(generator.uniform(-50.0f, 50.999f)));
}

ladder::Verdict PrefixSum::judge(const ladder::Drawn<PrefixSum>& problem, const Outputs& outputs,
                                 ladder::Arithmetic) {
  const std::vector<std::int32_t>& x = problem.array<std::int32_t>("x");
  std::vector<std::int32_t> sums(x.size()), carry;
  std::partial_sum(x.begin(), x.end(), sums.begin());
  for (std::size_t first = 0; first < sums.size();
       first += static_cast<std::size_t>(problem.drawn_case().chunk))
    carry.push_back(first == 0 ? 0 : sums[first - 1]);
  ladder::Verdict verdict;
  const auto compare = [&](const char* name, const std::vector<std::int32_t>& is,
                           const std::vector<std::int32_t>& should) {
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
  compare("carry", outputs.carry, carry);
  verdict.right = verdict.message.empty();
  return verdict;
}

namespace {

const ladder::OperatorRegistration<PrefixSum> registration;

}  // namespace

}  // namespace chunkwise::prefix_sums
