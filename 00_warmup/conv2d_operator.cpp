// The convolution as an operator, for the tests, the ladder and the X-ray.
#include <cmath>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "00_warmup/conv2d.hpp"
#include "00_warmup/known_part.hpp"
#include "common/judge/matrix.hpp"
#include "common/judge/typed.hpp"

namespace warmup {

using ladder::Matrix;
using ladder::matrix_of;
using ladder::product;

struct Conv2d {
  static std::int64_t taps(const Conv2dArgs& a) { return a.C * a.KH * a.KW; }

  static double fma_count(const Conv2dArgs& a) {
    return static_cast<double>(a.B * a.M) * static_cast<double>(a.out_height() * a.out_width()) *
           static_cast<double>(taps(a));
  }
  static double additions(const Conv2dArgs& a) { return static_cast<double>(taps(a)) + 1; }

  // A pixel, 0 outside of the image.
  static double pixel(const Conv2dArgs& a, std::int64_t b, std::int64_t c, std::int64_t iy,
                      std::int64_t ix) {
    if (iy < 0 || iy >= a.H || ix < 0 || ix >= a.W) return 0;
    return a.x[((b * a.C + c) * a.H + iy) * a.W + ix];
  }

  // The weights, one row for each m, times the pixels below them, one column for each position of
  // the window.
  static std::vector<ladder::Truth> truth(const ladder::Problem& problem, ladder::Arithmetic) {
    const Conv2dArgs& a = problem.args<Conv2dArgs>();
    const std::int64_t OW = a.out_width(), places = a.out_height() * OW;
    const Matrix weights = matrix_of(a.weight, a.M, taps(a));
    ladder::Truth y;
    for (std::int64_t b = 0; b < a.B && places > 0; ++b) {
      Matrix pixels(taps(a), places);
      for (std::int64_t k = 0; k < pixels.rows(); ++k) {
        const std::int64_t c = k / (a.KH * a.KW), ky = k / a.KW % a.KH, kx = k % a.KW;
        for (std::int64_t j = 0; j < places; ++j)
          pixels(k, j) =
              pixel(a, b, c, j / OW * a.stride + ky - a.pad, j % OW * a.stride + kx - a.pad);
      }
      const Matrix sums = product(weights, pixels);
      const Matrix squares = product(weights.cwiseAbs2(), pixels.cwiseAbs2());
      for (std::int64_t i = 0; i < a.M * places; ++i) {
        const double bias = a.bias[i / places];
        y.values.push_back(sums.data()[i] + bias);
        y.terms.push_back(std::sqrt(squares.data()[i] + bias * bias));
      }
    }
    return {y};
  }

  // An element of y, and a tap of the window.
  struct Place {
    std::int64_t b, m, oy, ox;
  };
  struct Tap {
    std::int64_t c, ky, kx;
  };
  using Term = std::function<double(const Place&, const Tap&)>;
  using Bias = std::function<double(const Place&)>;

  // y from other terms, for c below C, ky below KH and kx below KW, and from another bias.
  static std::vector<double> results(const Conv2dArgs& a, const Term& term, const Bias& bias,
                                     std::int64_t C, std::int64_t KH, std::int64_t KW) {
    std::vector<double> y;
    const std::int64_t OH = a.out_height(), OW = a.out_width();
    for (std::int64_t i = 0; i < a.B * a.M * OH * OW; ++i) {
      const Place at{i / (a.M * OH * OW), i / (OH * OW) % a.M, i / OW % OH, i % OW};
      double sum = bias(at);
      for (std::int64_t c = 0; c < C; ++c) {
        for (std::int64_t ky = 0; ky < KH; ++ky) {
          for (std::int64_t kx = 0; kx < KW; ++kx)
            sum += term(at, {c, ky, kx});
        }
      }
      y.push_back(sum);
    }
    return y;
  }

  static std::int64_t power_of_two(std::int64_t least) {
    std::int64_t power = 1;
    while (power < least)
      power *= 2;
    return power;
  }

  // An element of a flat array, or NaN past its end.
  static double element(const float* array, std::int64_t count, std::int64_t at) {
    return at >= 0 && at < count ? array[at] : NAN;
  }

  static std::int64_t row(const Conv2dArgs& a, const Place& at, const Tap& tap) {
    return at.oy * a.stride + tap.ky - a.pad;
  }
  static std::int64_t column(const Conv2dArgs& a, const Place& at, const Tap& tap) {
    return at.ox * a.stride + tap.kx - a.pad;
  }

  // Pixels that are read for the right ones. The terms refer to the arguments.
  static std::vector<std::pair<std::string, Term>> wrong_pixels(const Conv2dArgs& a) {
    return {
        {"the step of the window forgotten: oy + ky - pad, should be oy * stride + ky - pad",
         [&](const Place& at, const Tap& tap) {
           return pixel(a, at.b, tap.c, at.oy + tap.ky - a.pad, at.ox + tap.kx - a.pad);
         }},
        {"the window moved by its own size: oy * KH + ky - pad, should be oy * stride + ky - pad",
         [&](const Place& at, const Tap& tap) {
           return pixel(a, at.b, tap.c, at.oy * a.KH + tap.ky - a.pad,
                        at.ox * a.KW + tap.kx - a.pad);
         }},
        {"pad forgotten",
         [&](const Place& at, const Tap& tap) {
           return pixel(a, at.b, tap.c, row(a, at, tap) + a.pad, column(a, at, tap) + a.pad);
         }},
        {"pad added, should be subtracted",
         [&](const Place& at, const Tap& tap) {
           return pixel(a, at.b, tap.c, row(a, at, tap) + 2 * a.pad,
                        column(a, at, tap) + 2 * a.pad);
         }},
        {"the first channel's pixels for all channels",
         [&](const Place& at, const Tap& tap) {
           return pixel(a, at.b, 0, row(a, at, tap), column(a, at, tap));
         }},
        {"the first image's pixels for all images",
         [&](const Place& at, const Tap& tap) {
           return pixel(a, 0, tap.c, row(a, at, tap), column(a, at, tap));
         }},
        {"pixels read beyond the left and right edge, from the neighbouring rows: the mask of the "
         "columns is missing",
         [&](const Place& at, const Tap& tap) {
           const std::int64_t iy = row(a, at, tap);
           if (iy < 0 || iy >= a.H) return 0.0;
           return element(a.x, a.B * a.C * a.H * a.W,
                          ((at.b * a.C + tap.c) * a.H + iy) * a.W + column(a, at, tap));
         }},
        {"the mask's H and W exchanged", [&](const Place& at, const Tap& tap) {
           const std::int64_t iy = row(a, at, tap), ix = column(a, at, tap);
           if (iy < 0 || iy >= a.W || ix < 0 || ix >= a.H) return 0.0;
           return element(a.x, a.B * a.C * a.H * a.W, ((at.b * a.C + tap.c) * a.H + iy) * a.W + ix);
         }}};
  }

  // Wrong answers are computed only after a failure, and for the small shapes of tests.
  static std::string explain(const ladder::Problem& problem, const ladder::Parts& outputs) {
    const Conv2dArgs& a = problem.args<Conv2dArgs>();
    if (outputs[0].truth->empty()) return "";
    const auto weight = [&](std::int64_t m, std::int64_t c, std::int64_t ky, std::int64_t kx) {
      return element(a.weight, a.M * taps(a), ((m * a.C + c) * a.KH + ky) * a.KW + kx);
    };
    const Term right = [&](const Place& at, const Tap& tap) {
      return weight(at.m, tap.c, tap.ky, tap.kx) *
             pixel(a, at.b, tap.c, row(a, at, tap), column(a, at, tap));
    };
    const Bias bias = [&](const Place& at) { return a.bias[at.m]; };
    const auto equals = [&](const std::vector<double>& y) {
      return equals_where_known(outputs[0], y);
    };
    const auto with_term = [&](const Term& term) {
      return equals(results(a, term, bias, a.C, a.KH, a.KW));
    };
    const auto with_bias = [&](const Bias& other) {
      return equals(results(a, right, other, a.C, a.KH, a.KW));
    };

    if (with_bias([](const Place&) { return 0.0; })) return "equals the result without the bias\n";
    if (with_bias([&](const Place& at) { return 32.0 * a.bias[at.m]; }))
      return "equals the result with the bias added by each of 32 lanes\n";
    if (with_bias([&](const Place& at) { return element(a.bias, a.M, at.b); }))
      return "equals the result with bias[b] in the place of bias[m]: a bias by image\n";
    if (with_bias(
            [&](const Place& at) { return element(a.bias, a.M, at.oy * a.out_width() + at.ox); }))
      return "equals the result with a bias by pixel in the place of bias[m]\n";
    if (a.C == 0) return "";

    // Past the window's edge are the weights of its next row.
    if (equals(results(a, right, bias, a.C, power_of_two(a.KH), power_of_two(a.KW))))
      return "equals the result with a window rounded up to powers of two: the mask is missing\n";
    if (with_term([&](const Place& at, const Tap& tap) {
          return weight(at.m, tap.c, a.KH - 1 - tap.ky, a.KW - 1 - tap.kx) *
                 pixel(a, at.b, tap.c, row(a, at, tap), column(a, at, tap));
        }))
      return "equals the result with the weights turned by 180 degrees\n";
    if (with_term([&](const Place& at, const Tap& tap) {
          return weight(at.m, tap.c, tap.kx, tap.ky) *
                 pixel(a, at.b, tap.c, row(a, at, tap), column(a, at, tap));
        }))
      return "equals the result with the window's rows and columns exchanged\n";
    if (with_term([&](const Place& at, const Tap& tap) {
          const std::int64_t i = (tap.c * a.KH + tap.ky) * a.KW + tap.kx;
          const std::int64_t c = i % a.C, ky = i / a.C / a.KW, kx = i / a.C % a.KW;
          return weight(at.m, tap.c, tap.ky, tap.kx) *
                 pixel(a, at.b, c, row(a, at, {c, ky, kx}), column(a, at, {c, ky, kx}));
        }))
      return "equals the result with the channel as k's last index: the weights' last axis is kx\n";
    for (const auto& [words, wrong] : wrong_pixels(a)) {
      if (with_term([&, &wrong = wrong](const Place& at, const Tap& tap) {
            return weight(at.m, tap.c, tap.ky, tap.kx) * wrong(at, tap);
          }))
        return "equals the result with " + words + "\n";
    }
    return "";
  }
};

const ladder::OperatorRegistration conv2d_operator_registration(
    ladder::with_types<Conv2d, Conv2dSizes, Conv2dArgs, Conv2dArgs>({
        .name = "conv2d",
        .fma_count = ladder::of_host(Conv2d::fma_count),
        .truth = Conv2d::truth,
        .additions = ladder::of_host(Conv2d::additions),
        .explain = Conv2d::explain,
    }));

}  // namespace warmup
