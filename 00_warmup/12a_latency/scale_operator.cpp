// y = factor * x as an operator, for the tests, the ladder and the X-ray.
#include <algorithm>
#include <cmath>

#include "00_warmup/12a_latency/scale.hpp"
#include "common/judge/typed.hpp"

namespace warmup {

struct Scale {
  static double fma_count(const ScaleArgs& a) { return static_cast<double>(a.N); }
  static double additions(const ScaleArgs&) { return 0; }

  static std::vector<double> scaled(const ScaleArgs& a, double factor) {
    std::vector<double> y(a.x, a.x + a.N);
    for (double& each : y)
      each *= factor;
    return y;
  }
  static std::vector<ladder::Truth> truth(const ladder::Problem& problem, ladder::Arithmetic) {
    return {{scaled(problem.args<ScaleArgs>(), problem.args<ScaleArgs>().factor)}};
  }

  static std::string explain(const ladder::Problem& problem, const ladder::Parts& outputs) {
    const ScaleArgs& a = problem.args<ScaleArgs>();
    if (outputs[0].equals(scaled(a, 1))) return "equals x: the factor is missing\n";
    std::vector<double> without_tail = scaled(a, a.factor);
    std::fill(without_tail.begin() + a.N / 4 * 4, without_tail.end(), NAN);
    return outputs[0].equals(without_tail)
               ? "all but the last N % 4 elements are right: the tail is missing\n"
               : "";
  }
};

const ladder::OperatorRegistration scale_registration(
    ladder::with_types<Scale, ScaleSizes, ScaleArgs, ScaleArgs>({
        .name = "scale",
        .fma_count = ladder::of_host(Scale::fma_count),
        .truth = Scale::truth,
        .additions = ladder::of_host(Scale::additions),
        .explain = Scale::explain,
    }));

}  // namespace warmup
