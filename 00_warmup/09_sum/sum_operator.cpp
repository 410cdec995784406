// The sum of a vector as an operator, for the tests, the ladder and the X-ray.
#include <Eigen/Core>
#include <functional>
#include <utility>

#include "00_warmup/09_sum/sum.hpp"
#include "common/judge/typed.hpp"

namespace warmup {

struct Sum {
  static double fma_count(const SumArgs& a) { return static_cast<double>(a.N); }
  static double additions(const SumArgs& a) { return static_cast<double>(a.N); }

  static std::vector<ladder::Truth> truth(const ladder::Problem& problem, ladder::Arithmetic) {
    const SumArgs& a = problem.args<SumArgs>();
    const Eigen::VectorXd x = Eigen::Map<const Eigen::VectorXf>(a.x, a.N).cast<double>();
    return {{{x.sum()}, {x.norm()}}};
  }

  // Each misconception is a choice of elements. An element's thread is its thread in a block of
  // 256, whose threads load single elements or vectors of four.
  static std::string explain(const ladder::Problem& problem, const ladder::Parts& outputs) {
    constexpr std::int64_t kThreads = 256, kWarp = 32, kVec = 4;
    const SumArgs& a = problem.args<SumArgs>();
    const std::int64_t whole = a.N / kVec * kVec;  // elements in vectors
    const auto thread = [&](std::int64_t n, bool vectors) {
      return !vectors ? n % kThreads : n < whole ? n / kVec % kThreads : n - whole;
    };
    using Takes = std::function<bool(std::int64_t n, bool vectors)>;
    const std::pair<const char*, Takes> choices[] = {
        {"equals the sum without lanes 16 to 31 of each warp",
         [&](auto n, bool v) { return thread(n, v) % kWarp < kWarp / 2; }},
        {"equals the sum of each block's first warp",
         [&](auto n, bool v) { return thread(n, v) < kWarp; }},
        {"equals the sum without the last N % 4 elements", [&](auto n, bool) { return n < whole; }},
        {"equals the sum of every second element",
         [&](auto n, bool v) { return thread(n, v) % 2 == 0; }},
        {"equals the sum of what one thread of each block has",
         [&](auto n, bool v) { return thread(n, v) == kWarp; }},
        {"equals the sum without each block's first warp: lane 0 of a warp has its sum, the others "
         "do not",
         [&](auto n, bool v) { return thread(n, v) >= kWarp; }},
    };
    for (const auto& [words, takes] : choices) {
      for (const bool vectors : {false, true}) {
        double sum = 0;
        for (std::int64_t n = 0; n < a.N; ++n)
          sum += takes(n, vectors) ? a.x[n] : 0.0f;
        if (outputs[0].equals({sum})) return std::string(words) + "\n";
      }
    }
    return "";
  }
};

const ladder::OperatorRegistration sum_operator_registration(
    ladder::with_types<Sum, SumSizes, SumArgs, SumArgs>({
        .name = "sum",
        .fma_count = ladder::of_host(Sum::fma_count),
        .truth = Sum::truth,
        .additions = ladder::of_host(Sum::additions),
        .explain = Sum::explain,
    }));

}  // namespace warmup
