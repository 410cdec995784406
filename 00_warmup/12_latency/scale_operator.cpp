// y = factor * x as the tests, the ladder and the X-ray know it.
#include <cmath>

#include "00_warmup/12_latency/scale.hpp"
#include "common/core/operator.hpp"
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

  static std::string explain(const Problem& problem, const Outputs& outputs,
                             const std::vector<ladder::Truth>& truth) {
    const ScaleArgs& a = problem.args();
    const std::vector<float>& y = outputs[0];
    if (a.factor != 1 && ladder::roughly_equal(y, scaled(a, 1), a.N))
      return "equals x: the factor is missing\n";
    const std::int64_t whole = a.N / 4 * 4;
    if (whole == 0 || whole == a.N) return "";
    for (std::int64_t i = whole; i < a.N; ++i) {
      if (std::isfinite(y[i])) return "";
    }
    return ladder::roughly_equal({y.begin(), y.begin() + whole},
                                 {truth[0].values.begin(), truth[0].values.begin() + whole}, whole)
               ? "all but the last N % 4 elements are right: the tail is missing\n"
               : "";
  }
};

const ladder::OperatorRegistration<Scale> scale_registration;

}  // namespace warmup
