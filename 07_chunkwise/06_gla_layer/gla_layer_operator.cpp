#include "07_chunkwise/06_gla_layer/gla_layer_operator.hpp"

#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <sstream>
#include <string>

#include "common/core/generator.hpp"

namespace ladder {
namespace {

template <typename Real>
using Matrix = Eigen::Matrix<Real, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

template <typename Real>
Matrix<Real> read(const float* values, std::int64_t rows, std::int64_t columns) {
  if (rows == 0) return Matrix<Real>(0, columns);
  return Eigen::Map<const Matrix<float>>(values, rows, columns).template cast<Real>();
}

template <typename Real>
Matrix<Real> log_gate(const Matrix<Real>& logits) {
  return logits.unaryExpr(
      [](Real z) { return (std::fmin(z, Real(0)) - std::log1p(std::exp(-std::fabs(z)))) / 16; });
}

template <typename Real>
Matrix<Real> silu(const Matrix<Real>& x) {
  return x.unaryExpr([](Real z) { return z / (1 + std::exp(-z)); });
}

// Rows of the matrices are time steps.
template <typename Real>
Matrix<Real> gla_head(const Matrix<Real>& q, const Matrix<Real>& k, const Matrix<Real>& v,
                      const Matrix<Real>& g, Real scale) {
  Matrix<Real> o(v.rows(), v.cols()), state = Matrix<Real>::Zero(k.cols(), v.cols());
  for (Eigen::Index t = 0; t < v.rows(); ++t) {
    const Matrix<Real> w = g.row(t).unaryExpr([](Real x) { return std::exp(x); });
    state = w.row(0).asDiagonal() * state + k.row(t).transpose() * v.row(t);
    o.row(t) = scale * (q.row(t) * state);
  }
  return o;
}

template <typename Real>
std::vector<Real> layer(const GlaLayerArgs& a) {
  const std::int64_t keys_width = a.H * a.K, values_width = a.H * a.V;
  const Matrix<Real> x = read<Real>(a.x, a.B * a.T, a.d_model);
  const auto of_x = [&](const float* weight, std::int64_t outputs) -> Matrix<Real> {
    return x * read<Real>(weight, a.d_model, outputs);
  };
  const Matrix<Real> q = of_x(a.w_q, keys_width), k = of_x(a.w_k, keys_width);
  const Matrix<Real> v = of_x(a.w_v, values_width);
  Matrix<Real> logits = of_x(a.w_1, a.rank) * read<Real>(a.w_2, a.rank, keys_width);
  logits.rowwise() += read<Real>(a.b, 1, keys_width).row(0);
  const Matrix<Real> g = log_gate(logits);
  Matrix<Real> normed(a.B * a.T, a.H * a.V);
  for (std::int64_t b = 0; b < a.B; ++b) {
    for (std::int64_t h = 0; h < a.H; ++h) {
      const auto keys = [&](const Matrix<Real>& m) -> Matrix<Real> {
        return m.block(b * a.T, h * a.K, a.T, a.K);
      };
      const Matrix<Real> o =
          gla_head<Real>(keys(q), keys(k), v.block(b * a.T, h * a.V, a.T, a.V), keys(g), a.scale);
      for (std::int64_t t = 0; t < a.T; ++t) {
        const Real rms = std::sqrt(o.row(t).squaredNorm() / Real(a.V) + Real(a.eps));
        normed.block(b * a.T + t, h * a.V, 1, a.V) =
            (o.row(t) / rms).cwiseProduct(read<Real>(a.norm, 1, a.V));
      }
    }
  }
  const Matrix<Real> gate = silu<Real>(of_x(a.w_g, values_width));
  const Matrix<Real> y = normed.cwiseProduct(gate) * read<Real>(a.w_o, values_width, a.d_model);
  return {y.data(), y.data() + y.size()};
}

}  // namespace

std::vector<double> gla_layer(const GlaLayerArgs& problem) {
  return layer<double>(problem);
}

std::vector<float> gla_layer_plain_fp32(const GlaLayerArgs& problem) {
  return layer<float>(problem);
}

namespace {

// x about 1, weights about 1 / sqrt(inputs).
bool draw(Problem& problem, const std::string& input, Generator& generator) {
  const auto& c = problem.as<GlaLayerCase>();
  const auto uniform = [&](double middle, double spread) {
    for (float& x : problem[input]) {
      x = generator.uniform(static_cast<float>(middle - spread),
                            static_cast<float>(middle + spread));
    }
    return true;
  };
  const auto weight = [&](std::int64_t inputs) {
    return uniform(0, std::sqrt(3.0 / static_cast<double>(inputs)));
  };
  if (input == "x") return uniform(0, 2);
  if (input == "b") return uniform(0, 1);
  if (input == "norm") return uniform(1, 0.5);
  if (input == "w_2") return weight(c.rank);
  return weight(input == "w_o" ? c.H * c.V : c.d_model);
}

Struct host(const Struct& value) {
  const auto& c = value.as<GlaLayerCase>();
  GlaLayerArgs args;
  args.B = c.B;
  args.T = c.T;
  args.d_model = c.d_model;
  args.H = c.H;
  args.K = c.K;
  args.V = c.V;
  args.rank = c.rank;
  args.scale = 1.0f / std::sqrt(static_cast<float>(c.K));
  return Struct(args);
}

// The products with weights, and the recurrence.
double fma_count(const GlaLayerArgs& a) {
  const double keys = static_cast<double>(a.H * a.K), values = static_cast<double>(a.H * a.V);
  const double weights = static_cast<double>(a.d_model) * (2 * keys + 3 * values) +
                         static_cast<double>(a.rank) * (static_cast<double>(a.d_model) + keys);
  return static_cast<double>(a.B * a.T) *
         (weights + 3 * static_cast<double>(a.H * a.K) * static_cast<double>(a.V));
}

// A layer is too deep to count its roundings. Therefore the limit is the error of the same
// statements in fp32.
Verdict judge_layer(const Problem& problem, const std::vector<float>& y, Arithmetic) {
  constexpr double kFewUlp = 8 * 1.1920929e-7;
  const auto args = problem.args<GlaLayerArgs>();
  const std::vector<double> truth = gla_layer(args);
  Verdict verdict;
  verdict.array = "y";
  verdict.right = y.empty() && truth.empty();
  if (verdict.right) return verdict;
  verdict.error = relative_error(y, truth, args.d_model);
  verdict.plain_loop = relative_error(gla_layer_plain_fp32(args), truth, args.d_model);
  verdict.limit.whole = 2 * verdict.plain_loop.whole + kFewUlp;
  verdict.limit.worst_row = 2 * verdict.plain_loop.worst_row + kFewUlp;
  verdict.share = std::max(verdict.error.whole / verdict.limit.whole,
                           verdict.error.worst_row / verdict.limit.worst_row);
  verdict.right = verdict.error.finite && verdict.share <= 1;
  if (!verdict.right) {
    std::ostringstream text;
    text << "WRONG RESULT in y\nrelative error " << verdict.error.whole << " (limit "
         << verdict.limit.whole << "), worst row " << verdict.error.worst_row << " (limit "
         << verdict.limit.worst_row << ")\n";
    verdict.message = text.str();
  }
  return verdict;
}

const OperatorRegistration registration(
    with_types<GlaLayer, GlaLayerSizes, GlaLayerArgs, GlaLayerArgs>({
        .name = "gla_layer",
        .host = host,
        .fma_count = of_host(fma_count),
        .draw_input = draw,
        .steps = "T",
        .own_judge = judge_by(judge_layer),
    }));

}  // namespace

}  // namespace ladder
