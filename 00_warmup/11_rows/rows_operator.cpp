// Softmax and RMSNorm as operators, for the tests, the ladder and the X-ray.
#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "00_warmup/11_rows/rows.hpp"
#include "common/core/generator.hpp"
#include "common/judge/typed.hpp"

namespace warmup {
namespace rows {

using Values = std::vector<double>;
using Result = std::vector<float>;

// Lane of the warp that reads a column. Lanes read single elements or vectors of four, in order.
std::int64_t lane(std::int64_t column, bool vectors) {
  return (vectors ? column / 4 : column) % 32;
}

// Whether the columns of lane 0 are right, and most others wrong by the same factor within a lane.
bool only_lane_0_is_right(const Result& result, const Values& truth, std::int64_t N, bool vectors) {
  std::int64_t wrong = 0, others = 0, alike = 0;
  std::map<std::pair<std::int64_t, std::int64_t>, double> factors;  // of a row's lane
  for (std::size_t i = 0; i < result.size(); ++i) {
    const bool right = std::abs(result[i] - truth[i]) <= 1e-4 * std::abs(truth[i]);
    const std::int64_t row = static_cast<std::int64_t>(i) / N;
    const std::int64_t of_lane = lane(static_cast<std::int64_t>(i) % N, vectors);
    if (of_lane != 0) {
      ++others;
      wrong += !right;
      if (right || truth[i] == 0) continue;
      const double factor = result[i] / truth[i];
      const auto [found, is_first] = factors.try_emplace({row, of_lane}, factor);
      if (!is_first && std::abs(found->second - factor) > 1e-3 * std::abs(factor)) return false;
      alike += !is_first;
    } else if (!right) {
      return false;
    }
  }
  return 2 * wrong > others && alike > 0;
}

// Adds the terms of a row whose lanes are in the same half of a warp as `column`.
template <typename Term>
double half_sum(std::int64_t column, std::int64_t N, bool vectors, const Term& term) {
  double sum = 0;
  for (std::int64_t n = 0; n < N; ++n) {
    if (lane(n, vectors) / 16 == lane(column, vectors) / 16) sum += term(n);
  }
  return sum;
}

}  // namespace rows

struct Softmax {
  using Case = ladder::SizedCase<SoftmaxSizes>;
  static double fma_count(const SoftmaxArgs& a) { return 2.0 * a.M * a.N; }
  static double additions(const SoftmaxArgs& a) { return static_cast<double>(a.N); }

  // Every second row is below 0, with a large magnitude, so that a maximum that starts at 0 leaves
  // only zeros to add.
  static bool draw(ladder::Problem& problem, const std::string& input,
                   ladder::Generator& generator) {
    const Case& c = problem.as<Case>();
    const SoftmaxSizes& sizes = c;
    std::vector<float>& x = problem[input];
    for (std::int64_t m = 0; m < sizes.M; ++m) {
      const double shift = m % 2 == 0 ? 0.0 : -2.0 * c.magnitude;
      for (std::int64_t n = 0; n < sizes.N; ++n)
        x[m * sizes.N + n] =
            static_cast<float>(generator.uniform(-c.magnitude, c.magnitude) + shift);
    }
    return true;
  }

  static std::vector<ladder::Truth> truth(const ladder::Problem& problem, ladder::Arithmetic) {
    const SoftmaxArgs& a = problem.args<SoftmaxArgs>();
    rows::Values y;
    for (std::int64_t m = 0; m < a.M && a.N > 0; ++m) {
      const Eigen::ArrayXd x = Eigen::Map<const Eigen::ArrayXf>(a.x + m * a.N, a.N).cast<double>();
      const Eigen::ArrayXd e = (x - x.maxCoeff()).exp();
      for (const double each : e)
        y.push_back(each / e.sum());
    }
    return {{y}};
  }

  // exp(x) in fp32 is infinite above 88.7. The row's sum is then infinite, too, and every y is 0 or
  // NaN. Other rows are right.
  static bool overflows_without_the_maximum(const SoftmaxArgs& a, const rows::Result& y,
                                            const rows::Values& truth) {
    bool any = false;
    for (std::int64_t m = 0; m < a.M; ++m) {
      float sum = 0;
      for (std::int64_t n = 0; n < a.N; ++n)
        sum += std::exp(a.x[m * a.N + n]);
      any |= std::isinf(sum);
      for (std::int64_t i = m * a.N; i < (m + 1) * a.N; ++i) {
        const bool as_it =
            std::isinf(sum) ? !std::isfinite(y[i]) || y[i] == 0 : std::abs(y[i] - truth[i]) <= 1e-4;
        if (!as_it) return false;
      }
    }
    return any;
  }

  // A warp's registers hold 1,024 elements of a row, and a block's 8,192.
  static rows::Values with_zeros_behind_the_row(const SoftmaxArgs& a) {
    const std::int64_t held = a.N <= 1024 ? 1024 : 8192;
    rows::Values y;
    for (std::int64_t m = 0; m < a.M && a.N > 0; ++m) {
      const Eigen::ArrayXd x = Eigen::Map<const Eigen::ArrayXf>(a.x + m * a.N, a.N).cast<double>();
      const double most = std::max(x.maxCoeff(), 0.0);
      const Eigen::ArrayXd e = (x - most).exp();
      const double sum = e.sum() + static_cast<double>(held - a.N) * std::exp(-most);
      for (const double each : e)
        y.push_back(each / sum);
    }
    return y;
  }

  static std::string explain(const ladder::Problem& problem, const ladder::Parts& outputs) {
    const SoftmaxArgs& a = problem.args<SoftmaxArgs>();
    const rows::Result& y = *outputs[0].result;
    const rows::Values& should = *outputs[0].truth;
    if (overflows_without_the_maximum(a, y, should))
      return "equals the result without the row's maximum: exp(x) overflows above 88.7\n";
    for (const bool vectors : {false, true}) {
      if (rows::only_lane_0_is_right(y, should, a.N, vectors))
        return "only the columns of lane 0 are right: the other lanes have another sum\n";
      rows::Values halves = should;
      for (std::int64_t i = 0; i < a.M * a.N; ++i) {
        const std::int64_t first = i / a.N * a.N;
        halves[i] /= rows::half_sum(i - first, a.N, vectors,
                                    [&](std::int64_t n) { return should[first + n]; });
      }
      if (outputs[0].equals(halves)) return "equals the result with sums over 16 lanes, not 32\n";
    }
    rows::Values unnormalised = should;
    for (std::int64_t i = 0; i < a.M * a.N; ++i) {
      const float* x = a.x + i / a.N * a.N;
      unnormalised[i] = std::exp(static_cast<double>(a.x[i]) - *std::max_element(x, x + a.N));
    }
    if (outputs[0].equals(unnormalised))
      return "equals the result that is not divided by the row's sum\n";
    return outputs[0].equals(with_zeros_behind_the_row(a))
               ? "equals the result with zeros in the registers behind the row's end: exp(0) is 1\n"
               : "";
  }
};

struct RmsNorm {
  static double fma_count(const RmsNormArgs& a) { return 2.0 * a.M * a.N; }
  static double additions(const RmsNormArgs& a) { return static_cast<double>(a.N); }

  // `divisor` maps a row's sum of squares to the divisor of x. Without `weighted` the weight is
  // omitted.
  template <typename Divisor>
  static rows::Values with(const RmsNormArgs& a, const Divisor& divisor, bool weighted = true) {
    rows::Values y;
    for (std::int64_t m = 0; m < a.M && a.N > 0; ++m) {
      const Eigen::VectorXd x =
          Eigen::Map<const Eigen::VectorXf>(a.x + m * a.N, a.N).cast<double>();
      const double d = divisor(x.squaredNorm());
      for (std::int64_t n = 0; n < a.N; ++n)
        y.push_back(x[n] * (weighted ? a.weight[n] : 1.0f) / d);
    }
    return y;
  }
  static double root_mean(const RmsNormArgs& a, double squares) {
    return std::sqrt(squares / static_cast<double>(a.N) + a.eps);
  }
  static std::vector<ladder::Truth> truth(const ladder::Problem& problem, ladder::Arithmetic) {
    const RmsNormArgs& a = problem.args<RmsNormArgs>();
    return {{with(a, [&](double squares) { return root_mean(a, squares); })}};
  }

  static std::string explain(const ladder::Problem& problem, const ladder::Parts& outputs) {
    const RmsNormArgs& a = problem.args<RmsNormArgs>();
    const rows::Result& y = *outputs[0].result;
    const rows::Values& should = *outputs[0].truth;
    const auto is = [&](const rows::Values& other) { return outputs[0].equals(other); };
    const auto N = static_cast<double>(a.N);
    if (is(with(a, [&](double squares) { return std::sqrt(squares + a.eps); })))
      return "equals the result with the sum of the squares, not their mean\n";
    if (is(with(a, [&](double squares) { return std::sqrt(squares / N) + a.eps; })))
      return "equals the result with eps added behind the root\n";
    if (is(with(a, [&](double squares) { return squares / N + a.eps; })))
      return "equals the result without the root\n";
    if (is(with(
            a, [&](double squares) { return root_mean(a, squares); }, false)))
      return "equals the result without the weight\n";
    if (is(with(a, [&](double squares) {
          return std::sqrt(squares / (std::ceil(N / 32) * 32) + a.eps);
        })))
      return "equals the result with N rounded up to a multiple of 32\n";
    for (const bool vectors : {false, true}) {
      if (rows::only_lane_0_is_right(y, should, a.N, vectors))
        return "only the columns of lane 0 are right: the other lanes have another sum\n";
    }
    return "";
  }
};

const ladder::OperatorRegistration softmax_operator_registration(
    ladder::with_types<Softmax, SoftmaxSizes, SoftmaxArgs, SoftmaxArgs>({
        .name = "softmax",
        .fma_count = ladder::of_host(Softmax::fma_count),
        .truth = Softmax::truth,
        .additions = ladder::of_host(Softmax::additions),
        .draw_input = Softmax::draw,
        .explain = Softmax::explain,
    }));
const ladder::OperatorRegistration rms_norm_operator_registration(
    ladder::with_types<RmsNorm, RmsNormSizes, RmsNormArgs, RmsNormArgs>({
        .name = "rms_norm",
        .fma_count = ladder::of_host(RmsNorm::fma_count),
        .truth = RmsNorm::truth,
        .additions = ladder::of_host(RmsNorm::additions),
        .explain = RmsNorm::explain,
    }));

}  // namespace warmup
