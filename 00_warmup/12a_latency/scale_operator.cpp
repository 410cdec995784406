// y = factor * x as the tests, the ladder and the X-ray know it.
#include <algorithm>
#include <cmath>

#include "00_warmup/12a_latency/scale.hpp"
#include "common/judge/simple_operator.hpp"

namespace warmup {

struct Scale : ladder::SimpleOperator<Scale, ScaleSizes, ScaleArgs, ScaleArgs> {
  static constexpr const char* kName = "scale";

  static double fma_count(const ScaleArgs& a) { return static_cast<double>(a.N); }
  static double additions(const ScaleArgs&) { return 0; }

  static std::vector<double> scaled(const ScaleArgs& a, double factor) {
    std::vector<double> y(a.x, a.x + a.N);
    for (double& each : y)
      each *= factor;
    return y;
  }
  static std::vector<ladder::Truth> truth(const Problem& problem) {
    return {{scaled(problem.args(), problem.args().factor)}};
  }

  static std::string explain(const Problem& problem, const Parts& outputs) {
    const ScaleArgs& a = problem.args();
    if (outputs[0].equals(scaled(a, 1))) return "equals x: the factor is missing\n";
    std::vector<double> without_tail = scaled(a, a.factor);
    std::fill(without_tail.begin() + a.N / 4 * 4, without_tail.end(), NAN);
    return outputs[0].equals(without_tail)
               ? "all but the last N % 4 elements are right: the tail is missing\n"
               : "";
  }
};

const ladder::OperatorRegistration<Scale> scale_registration;

}  // namespace warmup
