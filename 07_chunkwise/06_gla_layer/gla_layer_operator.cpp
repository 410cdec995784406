#include "07_chunkwise/06_gla_layer/gla_layer_operator.hpp"

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <random>
#include <sstream>
#include <string>
#include <utility>

#include "common/core/operator.hpp"

namespace ladder::reference {
namespace {

template <typename Real>
using Matrix = Eigen::Matrix<Real, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

template <typename Real>
Matrix<Real> read(const Tensor<float>& tensor, std::int64_t rows) {
  using FloatMatrix = Matrix<float>;
  if (rows == 0) return Matrix<Real>(0, tensor.shape.back());
  return Eigen::Map<const FloatMatrix>(tensor.data.data(), rows, tensor.size() / rows)
      .template cast<Real>();
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
std::vector<Real> layer(const GlaLayerProblem& problem) {
  const GlaLayerArgs a = problem.args();
  const auto weight = [](const Tensor<float>& w) { return read<Real>(w, w.shape[0]); };
  const Matrix<Real> x = read<Real>(problem.x, a.B * a.T);
  const Matrix<Real> q = x * weight(problem.w_q), k = x * weight(problem.w_k);
  const Matrix<Real> v = x * weight(problem.w_v);
  Matrix<Real> logits = x * weight(problem.w_1) * weight(problem.w_2);
  logits.rowwise() += read<Real>(problem.b, 1).row(0);
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
            (o.row(t) / rms).cwiseProduct(read<Real>(problem.norm, 1));
      }
    }
  }
  const Matrix<Real> gate = silu<Real>(x * weight(problem.w_g));
  const Matrix<Real> y = normed.cwiseProduct(gate) * weight(problem.w_o);
  return {y.data(), y.data() + y.size()};
}

}  // namespace

GlaLayerArgs GlaLayerProblem::args() const {
  GlaLayerArgs args = GlaLayer::sizes(layer_case);
  args.x = x.pointer();
  args.w_q = w_q.pointer();
  args.w_k = w_k.pointer();
  args.w_v = w_v.pointer();
  args.w_1 = w_1.pointer();
  args.w_2 = w_2.pointer();
  args.b = b.pointer();
  args.norm = norm.pointer();
  args.w_g = w_g.pointer();
  args.w_o = w_o.pointer();
  return args;
}

GlaLayerProblem make_problem(const GlaLayerCase& c) {
  std::mt19937 engine(c.seed);
  // Uniform in middle +- spread; the standard distributions are not the same everywhere.
  const auto draw = [&](std::vector<std::int64_t> shape, double middle, double spread) {
    Tensor<float> tensor(std::move(shape));
    for (float& element : tensor.data)
      element = static_cast<float>(middle + spread * (engine() / 2147483648.0 - 1));
    return tensor;
  };
  const auto weight = [&](std::int64_t inputs, std::int64_t outputs) {
    return draw({inputs, outputs}, 0, std::sqrt(3.0 / static_cast<double>(inputs)));
  };
  GlaLayerProblem problem;
  problem.layer_case = c;
  problem.x = draw({c.B, c.T, c.d_model}, 0, 2);
  problem.w_q = weight(c.d_model, c.H * c.K);
  problem.w_k = weight(c.d_model, c.H * c.K);
  problem.w_v = weight(c.d_model, c.H * c.V);
  problem.w_1 = weight(c.d_model, c.rank);
  problem.w_2 = weight(c.rank, c.H * c.K);
  problem.b = draw({c.H * c.K}, 0, 1);
  problem.norm = draw({c.V}, 1, 0.5);
  problem.w_g = weight(c.d_model, c.H * c.V);
  problem.w_o = weight(c.H * c.V, c.d_model);
  return problem;
}

std::vector<double> gla_layer(const GlaLayerProblem& problem) {
  return layer<double>(problem);
}

std::vector<float> gla_layer_plain_fp32(const GlaLayerProblem& problem) {
  return layer<float>(problem);
}

}  // namespace ladder::reference

namespace ladder {

GlaLayerArgs GlaLayer::sizes(const Case& c) {
  GlaLayerArgs args;
  args.B = c.B;
  args.T = c.T;
  args.d_model = c.d_model;
  args.H = c.H;
  args.K = c.K;
  args.V = c.V;
  args.rank = c.rank;
  args.scale = 1.0f / std::sqrt(static_cast<float>(c.K));
  return args;
}

// The products with weights, and the recurrence.
double GlaLayer::fma_count(const GlaLayerArgs& a) {
  const double keys = static_cast<double>(a.H * a.K), values = static_cast<double>(a.H * a.V);
  const double weights = static_cast<double>(a.d_model) * (2 * keys + 3 * values) +
                         static_cast<double>(a.rank) * (static_cast<double>(a.d_model) + keys);
  return static_cast<double>(a.B * a.T) *
         (weights + 3 * static_cast<double>(a.H * a.K) * static_cast<double>(a.V));
}

// A layer is too long a way for counted roundings: the same statements in fp32 say what may be lost on it.
Verdict GlaLayer::judge(const Problem& problem, const Outputs& y, Arithmetic) {
  constexpr double kFewUlp = 8 * 1.1920929e-7;
  const Case& c = problem.layer_case;
  const std::vector<double> truth = reference::gla_layer(problem);
  Verdict verdict;
  verdict.array = "y";
  verdict.right = y.empty() && truth.empty();
  if (verdict.right) return verdict;
  verdict.error = relative_error(y, truth, c.d_model);
  verdict.plain_loop = relative_error(reference::gla_layer_plain_fp32(problem), truth, c.d_model);
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

namespace {
const OperatorRegistration<GlaLayer> registration;
}  // namespace

}  // namespace ladder
