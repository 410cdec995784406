// The running sum in blocks as an operator, for the tests, the ladder and the X-ray.
#include <cmath>
#include <vector>

#include "00_warmup/07_when_it_is_wrong/block_running_sum.hpp"
#include "common/judge/typed.hpp"

namespace warmup {

struct BlockRunningSum {
  static double fma_count(const BlockRunningSumArgs& a) { return 7 * static_cast<double>(a.N); }
  // In each of log2(128) steps one.
  static double additions(const BlockRunningSumArgs&) { return 7; }

  static std::vector<ladder::Truth> truth(const ladder::Problem& problem, ladder::Arithmetic) {
    const BlockRunningSumArgs& a = problem.args<BlockRunningSumArgs>();
    ladder::Truth y;
    double sum = 0, squares = 0;
    for (std::int64_t i = 0; i < a.N; ++i) {
      const double x = a.x[i];
      if (i % kRunningBlock == 0) sum = squares = 0;
      sum += x;
      squares += x * x;
      y.values.push_back(sum);
      y.terms.push_back(std::sqrt(squares));
    }
    return {y};
  }

  static std::string explain(const ladder::Problem& problem, const ladder::Parts& outputs) {
    const BlockRunningSumArgs& a = problem.args<BlockRunningSumArgs>();
    const ladder::Part& y = outputs[0];
    std::vector<double> without_own = *y.truth, overwritten(a.x, a.x + a.N), before = overwritten,
                        late = overwritten;
    for (std::int64_t i = 0; i < a.N; ++i)
      without_own[i] -= a.x[i];
    if (y.equals(without_own)) return "equals the sum of the elements before it, without its own\n";
    for (std::int64_t step = 1; step < kRunningBlock; step *= 2) {
      const std::vector<double> now = late;
      for (std::int64_t i = 0; i < a.N; ++i) {
        if (i % kRunningBlock < step) continue;
        overwritten[i] += overwritten[i - step];  // already changed in this step
        late[i] += before[i - step];              // not yet changed by the step before
      }
      before = now;
    }
    if (y.equals(overwritten))
      return "equals the sums of threads that read what another had already changed in this step\n";
    if (y.equals(late))
      return "equals the sums of threads that read what another had still to change\n";
    return "";
  }
};

const ladder::OperatorRegistration block_running_sum_operator(
    ladder::with_types<BlockRunningSum, BlockRunningSumSizes, BlockRunningSumArgs,
                       BlockRunningSumArgs>({
        .name = "block_running_sum",
        .fma_count = ladder::of_host(BlockRunningSum::fma_count),
        .truth = BlockRunningSum::truth,
        .additions = ladder::of_host(BlockRunningSum::additions),
        .explain = BlockRunningSum::explain,
    }));

}  // namespace warmup
