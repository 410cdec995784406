#include "07_chunkwise/01_prefix_sum/prefix_sum_operator.hpp"

#include <numeric>
#include <random>

namespace chapter07::prefix_sums {

PrefixSumProblem PrefixSum::make_problem(const Case& c) {
  std::mt19937 engine(c.seed);
  PrefixSumProblem problem{c, std::vector<std::int32_t>(static_cast<std::size_t>(c.length))};
  for (std::int32_t& x : problem.x)
    x = static_cast<std::int32_t>(engine() % 101) - 50;
  return problem;
}

PrefixSumArgs PrefixSum::args(const Problem& problem) {
  PrefixSumArgs args = sizes(problem.sum_case);
  args.x = problem.x.empty() ? nullptr : problem.x.data();
  return args;
}

ladder::Verdict PrefixSum::judge(const Problem& problem, const Outputs& outputs,
                                 ladder::Arithmetic) {
  std::vector<std::int32_t> sums(problem.x.size()), carry;
  std::partial_sum(problem.x.begin(), problem.x.end(), sums.begin());
  for (std::size_t first = 0; first < sums.size();
       first += static_cast<std::size_t>(problem.sum_case.chunk))
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

}  // namespace chapter07::prefix_sums
