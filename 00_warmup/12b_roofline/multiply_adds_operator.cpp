// y = x after many FMAs as an operator, for the tests, the ladder and the X-ray.
#include <cmath>

#include "00_warmup/12b_roofline/multiply_adds.hpp"
#include "common/judge/typed.hpp"

namespace warmup {

struct MultiplyAdds {
  static double fma_count(const MultiplyAddsArgs& a) {
    return static_cast<double>(a.N) * static_cast<double>(a.rounds);
  }
  static double additions(const MultiplyAddsArgs& a) { return static_cast<double>(a.rounds); }

  static ladder::Truth after(const MultiplyAddsArgs& a, std::int64_t rounds) {
    ladder::Truth y;
    for (std::int64_t i = 0; i < a.N; ++i) {
      double value = a.x[i], squares = value * value;
      for (std::int64_t round = 0; round < rounds; ++round) {
        value = a.factor * value + 1;
        squares = double{a.factor} * a.factor * squares + 1;
      }
      y.values.push_back(value);
      y.terms.push_back(std::sqrt(squares));
    }
    return y;
  }
  static std::vector<ladder::Truth> truth(const ladder::Problem& problem, ladder::Arithmetic) {
    return {after(problem.args<MultiplyAddsArgs>(), problem.args<MultiplyAddsArgs>().rounds)};
  }

  static std::string explain(const ladder::Problem& problem, const ladder::Parts& outputs) {
    const MultiplyAddsArgs& a = problem.args<MultiplyAddsArgs>();
    for (const int off : {-1, 1}) {
      if (a.rounds + off >= 0 && outputs[0].equals(after(a, a.rounds + off).values))
        return off < 0 ? "equals the result with a round too few\n"
                       : "equals the result with a round too many\n";
    }
    return "";
  }
};

const ladder::OperatorRegistration multiply_adds_registration(
    ladder::with_types<MultiplyAdds, MultiplyAddsSizes, MultiplyAddsArgs, MultiplyAddsArgs>({
        .name = "multiply_adds",
        .fma_count = ladder::of_host(MultiplyAdds::fma_count),
        .truth = MultiplyAdds::truth,
        .additions = ladder::of_host(MultiplyAdds::additions),
        .explain = MultiplyAdds::explain,
    }));

}  // namespace warmup
