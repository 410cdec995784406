// The moving mean as an operator, for the tests, the ladder and the X-ray.
#include <algorithm>
#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "00_warmup/06_stencil/moving_mean.hpp"
#include "common/judge/typed.hpp"

namespace warmup {

struct MovingMean {
  static double fma_count(const MovingMeanArgs& a) {
    return static_cast<double>(a.N) * static_cast<double>(2 * a.R + 1);
  }
  static double additions(const MovingMeanArgs& a) { return static_cast<double>(2 * a.R + 1); }

  struct Mean {
    double value, terms;
  };
  static Mean mean_around(const MovingMeanArgs& a, std::int64_t i) {
    const double count = static_cast<double>(2 * a.R + 1);
    double sum = 0, squares = 0;
    for (std::int64_t j = std::max<std::int64_t>(i - a.R, 0); j <= std::min(i + a.R, a.N - 1);
         ++j) {
      const double x = a.x[j];
      sum += x;
      squares += x * x;
    }
    return {sum / count, std::sqrt(squares) / count};
  }

  static std::vector<ladder::Truth> truth(const ladder::Problem& problem, ladder::Arithmetic) {
    const MovingMeanArgs& a = problem.args<MovingMeanArgs>();
    ladder::Truth y;
    for (std::int64_t i = 0; i < a.N; ++i) {
      const Mean mean = mean_around(a, i);
      y.values.push_back(mean.value);
      y.terms.push_back(mean.terms);
    }
    return {y};
  }

  static std::string explain(const ladder::Problem& problem, const ladder::Parts& outputs) {
    const MovingMeanArgs& a = problem.args<MovingMeanArgs>();
    const std::vector<double>& right = *outputs[0].truth;
    const std::vector<float>& y = *outputs[0].result;
    const auto equals = [&](const auto& wrong) {
      std::vector<double> other(right.size());
      for (std::int64_t i = 0; i < a.N; ++i)
        other[i] = wrong(i);
      return outputs[0].equals(other);
    };
    if (a.R == 0) return "";
    // In the emulator, unwritten shared memory holds NaN.
    if (equals([&](std::int64_t i) { return i % kTile + a.R >= kTile ? NAN : right[i]; }))
      return "wrong where a tile needs its right halo\n";
    if (equals([&](std::int64_t i) { return i % kTile < a.R ? NAN : right[i]; }))
      return "wrong where a tile needs its left halo\n";
    if (equals([&](std::int64_t i) {
          return i % kTile < a.R || i % kTile + a.R >= kTile ? NAN : right[i];
        }))
      return "wrong where a tile needs its halo, left and right\n";
    // All elements that are not NaN are right, so some threads read a tile too early.
    if (equals([&](std::int64_t i) { return std::isnan(y[i]) ? NAN : right[i]; }))
      return "some threads read the tile before others wrote it: is a barrier missing?\n";
    if (equals([&](std::int64_t i) {
          return i % kTile + a.R < kTile ? mean_around(a, i + a.R).value : NAN;
        }))
      return "equals the means around the elements R further to the right\n";
    if (equals([&](std::int64_t i) { return right[i] * static_cast<double>(2 * a.R + 1); }))
      return "equals the sum, not the mean\n";
    // A halo from a wrong index. The index is given for thread t of the block, with its own element
    // x[i].
    using From = std::function<std::int64_t(std::int64_t i)>;
    const From left = [&](std::int64_t i) { return i - a.R; };
    const From right_halo = [](std::int64_t i) { return i + kTile; };
    struct Wrong {
      const char* name;
      From left, right;
    };
    const Wrong halos[] = {{"the right halo brought from x[i + 1], should be x[i + 128]", left,
                            [](std::int64_t i) { return i + 1; }},
                           {"the right halo brought from x[i + R], should be x[i + 128]", left,
                            [&](std::int64_t i) { return i + a.R; }},
                           {"the right halo brought from x[i], should be x[i + 128]", left,
                            [](std::int64_t i) { return i; }},
                           {"the right halo brought from x[i + 128 + R], should be x[i + 128]",
                            left, [&](std::int64_t i) { return i + kTile + a.R; }},
                           {"the right halo brought from x[i + 127], should be x[i + 128]", left,
                            [](std::int64_t i) { return i + kTile - 1; }},
                           {"the left halo brought from x[i], should be x[i - R]",
                            [](std::int64_t i) { return i; }, right_halo},
                           {"the left halo brought from x[i - 1], should be x[i - R]",
                            [](std::int64_t i) { return i - 1; }, right_halo},
                           {"the left halo brought from x[i - 128], should be x[i - R]",
                            [](std::int64_t i) { return i - kTile; }, right_halo},
                           {"the two halos exchanged", right_halo, left}};
    for (const Wrong& wrong : halos) {
      if (equals([&](std::int64_t i) { return mean_with_halos(a, i, wrong.left, wrong.right); }))
        return "equals the result with " + std::string(wrong.name) + "\n";
    }
    return "";
  }

 private:
  template <typename From>
  static double mean_with_halos(const MovingMeanArgs& a, std::int64_t i, const From& left,
                                const From& right) {
    const std::int64_t begin = i / kTile * kTile;
    double sum = 0;
    for (std::int64_t place = i - begin; place <= i - begin + 2 * a.R; ++place) {
      std::int64_t from = begin + place - a.R;
      if (place < a.R) from = left(begin + place);
      if (place >= a.R + kTile) from = right(begin + place - a.R - kTile);
      if (from >= 0 && from < a.N) sum += a.x[from];
    }
    return sum / static_cast<double>(2 * a.R + 1);
  }

  static constexpr std::int64_t kTile = 128;  // elements of a block
};

const ladder::OperatorRegistration moving_mean_operator(
    ladder::with_types<MovingMean, MovingMeanSizes, MovingMeanArgs, MovingMeanArgs>({
        .name = "moving_mean",
        .fma_count = ladder::of_host(MovingMean::fma_count),
        .truth = MovingMean::truth,
        .additions = ladder::of_host(MovingMean::additions),
        .explain = MovingMean::explain,
    }));

}  // namespace warmup
