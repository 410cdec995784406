// The causal product's gradients, for the tests, the ladder and the X-ray.
#include <Eigen/Core>
#include <algorithm>
#include <string>
#include <vector>

#include "07_chunkwise/16b_linear_gradients/causal_dot_product_backward.hpp"
#include "common/core/bfloat16.hpp"
#include "common/judge/matrix.hpp"
#include "common/judge/sequences.hpp"
#include "common/judge/typed.hpp"

namespace chunkwise {

struct CausalDotProductBackward {
  using Case = ladder::SizedCase<CausalDotProductBackwardSizes>;
  using Args = CausalDotProductBackwardArgs<float>;
  using Matrix = ladder::Matrix;  // a row for each token

  static ladder::Struct case_of(const ladder::Struct& sizes) {
    Case c{sizes.as<CausalDotProductBackwardSizes>()};
    c.precision = "bf16";
    return ladder::Struct(c);
  }

  // S += k v, dq += S d_o, D += q d_o, dk += D v, dv += D k.
  static double fma_count(const Args& x) {
    return 5.0 * static_cast<double>(x.B * x.T * x.H) * static_cast<double>(x.K * x.V);
  }
  static double additions(const Args& x) { return static_cast<double>(std::max(x.K, x.V) + x.T); }

  // The inputs of one head, (T, K), (T, K), (T, V), (T, V).
  struct Inputs {
    Matrix q, k, v, d_o;
  };
  using Gradients = std::vector<Matrix>;  // dq, dk, dv

  static Gradients gradients(const Inputs& x) {
    const Eigen::Index T = x.q.rows(), K = x.q.cols(), V = x.v.cols();
    Gradients d = {Matrix(T, K), Matrix(T, K), Matrix(T, V)};
    Matrix s = Matrix::Zero(K, V), d_s = s;
    for (Eigen::Index t = 0; t < T; ++t) {
      s += x.k.row(t).transpose() * x.v.row(t);
      d[0].row(t) = x.d_o.row(t) * s.transpose();
    }
    for (Eigen::Index t = T - 1; t >= 0; --t) {
      d_s += x.q.row(t).transpose() * x.d_o.row(t);
      d[1].row(t) = x.v.row(t) * d_s.transpose();
      d[2].row(t) = x.k.row(t) * d_s;
    }
    return d;
  }

  // Collects the results of `compute(inputs)` for each head, (T, width) each, as arrays of (B, T,
  // H, width).
  template <typename Compute>
  static std::vector<std::vector<double>> of_all_heads(const Args& x, const Compute& compute) {
    std::vector<std::vector<double>> arrays(3);
    for (std::int64_t head = 0; head < x.B * x.H; ++head) {
      const std::int64_t first = head / x.H * x.T * x.H + head % x.H;
      const auto rows = [&](const float* array, std::int64_t width) {
        return ladder::matrix_of(array + first * width, x.T, width, x.H * width);
      };
      const std::vector<Matrix> results =
          compute(Inputs{rows(x.q, x.K), rows(x.k, x.K), rows(x.v, x.V), rows(x.d_o, x.V)});
      for (std::size_t n = 0; n < results.size(); ++n) {
        const std::int64_t width = results[n].cols();
        arrays[n].resize(x.B * x.T * x.H * width);
        for (std::int64_t t = 0; t < x.T; ++t) {
          for (std::int64_t i = 0; i < width; ++i)
            arrays[n][(first + t * x.H) * width + i] = results[n](t, i);
        }
      }
    }
    return arrays;
  }

  static std::vector<ladder::Truth> truth(const ladder::Problem& problem, ladder::Arithmetic) {
    const auto values = of_all_heads(problem.args<Args>(), gradients);
    const auto terms = of_all_heads(problem.args<Args>(), [](const Inputs& x) {
      Gradients squares =
          gradients({x.q.cwiseAbs2(), x.k.cwiseAbs2(), x.v.cwiseAbs2(), x.d_o.cwiseAbs2()});
      for (Matrix& each : squares)
        each = each.cwiseSqrt();
      return squares;
    });
    return {{values[0], terms[0]}, {values[1], terms[1]}, {values[2], terms[2]}};
  }

  // A causal product of three inputs, by their numbers.
  struct Run {
    int q, k, v;
    bool reverse;

    std::string words() const {
      constexpr const char* kNames[] = {"q", "k", "v", "d_o"};
      return std::string(kNames[q]) + " as q, " + kNames[k] + " as k, " + kNames[v] + " as v, " +
             (reverse ? "backward" : "forward") + " in time";
    }
    // Empty if the product does not have `width` columns, or does not exist.
    std::vector<Matrix> product(const Inputs& x, std::int64_t width) const {
      const Matrix* const inputs[] = {&x.q, &x.k, &x.v, &x.d_o};
      if (inputs[q]->cols() != inputs[k]->cols() || inputs[v]->cols() != width) return {};
      Matrix scores = ladder::product(*inputs[q], inputs[k]->transpose());
      if (reverse) {
        scores.triangularView<Eigen::StrictlyLower>().setZero();
      } else {
        scores.triangularView<Eigen::StrictlyUpper>().setZero();
      }
      return {ladder::product(scores, *inputs[v])};
    }
  };
  static constexpr Run kRuns[] = {{3, 2, 1, false}, {2, 3, 0, true}, {1, 0, 3, true}};
  static constexpr double kMostExplained = 1e7;  // multiply-adds, of 128 products

  // Swapped arrays. All else is found by running the kernel.
  static std::string explain(const ladder::Problem& problem, const ladder::Parts& outputs) {
    if (fma_count(problem.args<Args>()) > kMostExplained) return "";
    for (std::size_t n = 0; n < outputs.size(); ++n) {
      if (judge_part(outputs[n]).right) continue;
      for (int number = 0; number < 128; ++number) {
        const Run run{number % 4, number / 4 % 4, number / 16 % 4, number >= 64};
        const auto result = of_all_heads(problem.args<Args>(), [&](const Inputs& x) {
          return run.product(x, outputs[n].layout.row());
        });
        if (!result[0].empty() && outputs[n].equals(result[0]))
          return "equals the causal product with " + run.words() + "; " + outputs[n].layout.array +
                 " is that with " + kRuns[n].words() + "\n";
      }
    }
    return "";
  }
};

const ladder::OperatorRegistration causal_dot_product_backward_operator_registration(
    ladder::on_sequences(ladder::with_types<CausalDotProductBackward, CausalDotProductBackwardSizes,
                                            CausalDotProductBackwardArgs<float>,
                                            CausalDotProductBackwardArgs<ladder::bfloat16>>({
        .name = "causal_dot_product_backward",
        .case_with = CausalDotProductBackward::case_of,
        .fma_count = ladder::of_host(CausalDotProductBackward::fma_count),
        .truth = CausalDotProductBackward::truth,
        .additions = ladder::of_host(CausalDotProductBackward::additions),
        .linear_in = {"q", "k", "v", "d_o"},
        .explain = CausalDotProductBackward::explain,
    })));

}  // namespace chunkwise
