// Quantisation as an operator, for the tests, the ladder and the X-ray.
#include <algorithm>
#include <cmath>
#include <limits>

#include "00_warmup/20a_int8/quantize.hpp"
#include "common/core/generator.hpp"
#include "common/judge/typed.hpp"

namespace warmup {

struct Quantize {
  using Case = ladder::SizedCase<QuantizeSizes>;
  static double fma_count(const QuantizeArgs& x) {
    return static_cast<double>(x.K) * static_cast<double>(x.N);
  }
  static double additions(const QuantizeArgs&) { return 2; }

  // Whole multiples of a scale and a little more, so that no right kernel rounds to another number.
  // Each group contains the ends of its range. A symmetric one contains only one of them, which is
  // the lower one in odd columns. Every eighth column contains only zeros.
  static bool draw(ladder::Problem& problem, const std::string& input,
                   ladder::Generator& generator) {
    const Case& c = problem.as<Case>();
    std::vector<float>& r = problem[input];
    for (std::int64_t first = 0; first < c.K; first += c.GROUP) {
      const std::int64_t end = std::min(c.K, first + c.GROUP);
      for (std::int64_t n = 0; n < c.N; ++n) {
        const float scale = c.magnitude * generator.uniform(0.01f, 0.02f);
        const float zero = c.symmetric ? 128.0f : std::floor(generator.uniform(40.0f, 200.0f));
        // A zero point that is cut off instead of rounded is another number in every second column.
        const float offset = c.symmetric ? 0.0f : n % 2 == 0 ? 0.25f : -0.25f;
        const float least = c.symmetric ? 64.0f : 0.0f, most = c.symmetric ? 192.0f : 255.0f;
        for (std::int64_t k = first; k < end; ++k) {
          float q = std::floor(generator.uniform(least, most));
          if (k == first) q = !c.symmetric ? 255.0f : n % 2 == 0 ? 255.0f : 1.0f;
          if (k == first + 1 && !c.symmetric) q = 0.0f;
          const bool is_end = k == first || k == first + 1;
          const float noise = is_end ? 0.0f : generator.uniform(-0.2f, 0.2f);
          r[k * c.N + n] = n % 8 == 5 ? 0.0f : scale * (q - zero - offset + noise);
        }
      }
    }
    return true;
  }

  using Values = std::vector<double>;
  struct Result {
    Values q, scale, zero;
  };
  // `magnitude` maps a group's least and largest number to the number that a symmetric scale is
  // computed from.
  template <typename Magnitude>
  static Result quantized(const QuantizeArgs& x, const Magnitude& magnitude, bool with_zero = true,
                          bool to_nearest = true) {
    Result result;
    result.q.resize(x.K * x.N);
    for (std::int64_t first = 0; first < x.K; first += x.GROUP) {
      const std::int64_t end = std::min(x.K, first + x.GROUP);
      for (std::int64_t n = 0; n < x.N; ++n) {
        double least = 0, most = 0;
        for (std::int64_t k = first; k < end; ++k) {
          least = std::min<double>(least, x.r[k * x.N + n]);
          most = std::max<double>(most, x.r[k * x.N + n]);
        }
        double scale = x.symmetric ? magnitude(least, most) / 127 : (most - least) / 255;
        if (scale == 0) scale = 1;
        const double zero = x.symmetric ? 128 : std::nearbyint(-least / scale);
        result.scale.push_back(scale);
        result.zero.push_back(zero);
        for (std::int64_t k = first; k < end; ++k) {
          const double exact = x.r[k * x.N + n] / scale + (with_zero ? zero : 0);
          const double q = to_nearest ? std::nearbyint(exact) : std::floor(exact);
          result.q[k * x.N + n] = std::clamp(q, 0.0, 255.0);
        }
      }
    }
    return result;
  }
  static double right_magnitude(double least, double most) { return std::max(-least, most); }

  static std::vector<ladder::Truth> truth(const ladder::Problem& problem, ladder::Arithmetic) {
    const Result right = quantized(problem.args<QuantizeArgs>(), right_magnitude);
    return {{right.q}, {right.scale}, {right.zero}};
  }

  static std::string explain(const ladder::Problem& problem, const ladder::Parts& outputs) {
    const QuantizeArgs& x = problem.args<QuantizeArgs>();
    const auto equals = [&](const Result& other) {
      const Values* all[] = {&other.q, &other.scale, &other.zero};
      for (int n = 0; n < 3; ++n) {
        if (outputs[n].result->size() != all[n]->size()) return false;
        for (std::size_t i = 0; i < all[n]->size(); ++i) {
          const double is = (*outputs[n].result)[i], should = (*all[n])[i];
          if (!(std::abs(is - should) <= 1e-5 * std::abs(should))) return false;
        }
      }
      return true;
    };
    if (equals(quantized(x, [](double, double most) { return most; })))
      return "equals the result with the scale from the largest number, not the largest "
             "magnitude\n";
    if (equals(quantized(x, [](double least, double most) { return most - least; })))
      return "equals the result with the scale from the whole range, though it is symmetric\n";
    if (equals(quantized(x, right_magnitude, false)))
      return "equals the result without the zero point\n";
    if (equals(quantized(x, right_magnitude, true, false)))
      return "equals the result rounded down, not to the nearest\n";
    return "";
  }
};

const ladder::OperatorRegistration quantize_registration(
    ladder::with_types<Quantize, QuantizeSizes, QuantizeArgs, QuantizeArgs>({
        .name = "quantize",
        .fma_count = ladder::of_host(Quantize::fma_count),
        .truth = Quantize::truth,
        .additions = ladder::of_host(Quantize::additions),
        .draw_input = Quantize::draw,
        .explain = Quantize::explain,
    }));

}  // namespace warmup
