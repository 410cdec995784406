// y = x as an operator, for the tests, the ladder and the X-ray.
#include <cmath>
#include <string>

#include "00_warmup/04_who_reads_what/warp_copy.hpp"
#include "common/judge/typed.hpp"

namespace warmup {

struct WarpCopy {
  // The shape of the README's table. It is more than one warp, because the last lane of a single
  // warp would hide a misaligned copy.
  static ladder::Shape small_shape(const ladder::Shape&) { return {{"N", 4096}}; }

  static double fma_count(const WarpCopyArgs&) { return 0; }
  static double additions(const WarpCopyArgs&) { return 0; }

  static std::vector<ladder::Truth> truth(const ladder::Problem& problem, ladder::Arithmetic) {
    const WarpCopyArgs& args = problem.args<WarpCopyArgs>();
    return {{{args.x, args.x + args.N}}};
  }

  static std::string explain(const ladder::Problem& problem, const ladder::Parts& outputs) {
    const std::vector<double>& x = *outputs[0].truth;
    const std::int64_t N = problem.args<WarpCopyArgs>().N;
    const auto equals = [&](const auto& wrong) {
      std::vector<double> other(x.size());
      for (std::int64_t i = 0; i < N; ++i)
        other[i] = wrong(i);
      return outputs[0].equals(other);
    };
    if (equals([&](std::int64_t i) { return x[i / 32 * 32]; }))
      return "equals the first element of each warp, copied by all its lanes\n";
    if (equals([&](std::int64_t i) { return i == 0 ? NAN : x[i]; }))
      return "only element 0 is missing: who reads the element that the shift leaves behind?\n";
    if (equals([&](std::int64_t i) { return i < N / 4 * 4 ? x[i] : NAN; }))
      return "the last N % 4 elements are missing: they fill no whole vector of four\n";
    const auto blocks_overlap = [&](std::int64_t i) {
      const std::int64_t blocks = (N + kBlock - 1) / kBlock;
      return i < (blocks + kEach - 1) * kThreads ? x[i] : NAN;
    };
    if (equals(blocks_overlap))
      return "equals the result of blocks that begin 256 elements apart, but copy 2048 each\n";
    if (equals([&](std::int64_t i) { return i % kBlock < kThreads ? x[i] : NAN; })) {
      return "only the first 256 of every 2048 elements were written: a thread copies one element, "
             "should copy 8\n";
    }
    const std::int64_t one_each = (N + kBlock - 1) / kBlock * kThreads;
    if (equals([&](std::int64_t i) { return i < one_each ? x[i] : NAN; })) {
      return "only the first " + std::to_string(one_each) +
             " elements were written: a thread copies one element, should copy 8\n";
    }
    return "";
  }

 private:
  // They describe the kernel with several elements a thread.
  static constexpr std::int64_t kThreads = 256, kEach = 8, kBlock = kThreads * kEach;
};

const ladder::OperatorRegistration warp_copy_operator(
    ladder::with_types<WarpCopy, WarpCopySizes, WarpCopyArgs, WarpCopyArgs>({
        .name = "warp_copy",
        .fma_count = ladder::of_host(WarpCopy::fma_count),
        .truth = WarpCopy::truth,
        .additions = ladder::of_host(WarpCopy::additions),
        .own_small_shape_like = WarpCopy::small_shape,
        .explain = WarpCopy::explain,
    }));

}  // namespace warmup
