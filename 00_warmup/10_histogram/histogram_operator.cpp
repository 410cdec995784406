// The histogram as an operator, for the tests, the ladder and the X-ray.
#include <algorithm>

#include "00_warmup/10_histogram/histogram.hpp"
#include "common/core/generator.hpp"
#include "common/judge/typed.hpp"

namespace warmup {

struct Histogram {
  using Case = ladder::SizedCase<HistogramSizes>;
  static double fma_count(const HistogramArgs&) { return 0; }
  static double additions(const HistogramArgs&) { return 0; }  // integer additions do not round

  static bool draw(ladder::Problem& problem, const std::string& input,
                   ladder::Generator& generator) {
    const Case& c = problem.as<Case>();
    for (std::int32_t& value : problem.array<std::int32_t>(input)) {
      const float drawn = generator.uniform(0.0f, static_cast<float>(c.BINS));
      value =
          c.one_bin
              ? 0
              : static_cast<std::int32_t>(std::min(static_cast<std::int64_t>(drawn), c.BINS - 1));
    }
    return true;
  }

  static void check_values(const ladder::Problem& problem) {
    const HistogramArgs a = problem.args<HistogramArgs>();
    for (std::int64_t n = 0; n < a.N; ++n) {
      ladder::require(a.values[n] >= 0 && a.values[n] < a.BINS,
                      "values has " + std::to_string(a.values[n]) + "; allowed: 0 to BINS - 1");
    }
  }

  static std::vector<double> count(const HistogramArgs& a, std::int64_t N) {
    std::vector<double> counts(static_cast<std::size_t>(a.BINS));
    for (std::int64_t n = 0; n < N; ++n)
      counts[a.values[n]] += 1;
    return counts;
  }
  static std::vector<ladder::Truth> truth(const ladder::Problem& problem, ladder::Arithmetic) {
    return {{count(problem.args<HistogramArgs>(), problem.args<HistogramArgs>().N)}};
  }

  static std::string explain(const ladder::Problem& problem, const ladder::Parts& outputs) {
    constexpr std::int64_t kThreads = 256, kVec = 4;
    const HistogramArgs& a = problem.args<HistogramArgs>();
    const std::vector<float>& is = *outputs[0].result;
    const std::vector<double>& should = *outputs[0].truth;
    const auto equals = [&](const std::vector<double>& other) {
      return other != should && std::equal(is.begin(), is.end(), other.begin(), other.end());
    };
    if (equals(count(a, a.N / kVec * kVec)))
      return "equals the counts without the last N % 4 values\n";
    std::vector<double> merged_once = should;
    for (std::int64_t bin = kThreads; bin < a.BINS; ++bin)
      merged_once[bin] = 0;
    if (equals(merged_once)) return "equals the counts of the first 256 bins, and 0 behind them\n";
    std::vector<double> minima = should;
    for (double& each : minima)
      each = std::min(each, 1.0);
    if (equals(minima)) return "equals 1 for every bin that has a value: stored, not added\n";
    std::vector<double> shifted = should;
    for (double& each : shifted)
      each += is[0] - should[0];
    if (a.BINS > 1 && equals(shifted))
      return "every bin is wrong by the same number: bins that were not cleared\n";
    return "";
  }
};

const ladder::OperatorRegistration histogram_operator_registration(
    ladder::with_types<Histogram, HistogramSizes, HistogramArgs, HistogramArgs>({
        .name = "histogram",
        .fma_count = ladder::of_host(Histogram::fma_count),
        .truth = Histogram::truth,
        .additions = ladder::of_host(Histogram::additions),
        .draw_input = Histogram::draw,
        .check_values = Histogram::check_values,
        .explain = Histogram::explain,
    }));

}  // namespace warmup
