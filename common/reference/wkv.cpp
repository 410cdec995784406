#include "common/reference/wkv.hpp"

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>

namespace ladder::reference {
namespace {

using Eigen::Dynamic;
using Eigen::RowMajor;
using Matrix = Eigen::Matrix<double, Dynamic, Dynamic, RowMajor>;
using FloatMatrix = Eigen::Matrix<float, Dynamic, Dynamic, RowMajor>;
using Array = Eigen::ArrayXd;

// One head's view of a problem: the vectors of time step t, in the order time runs.
struct Head {
  const WkvProblem& problem;
  WkvArgs args;
  std::int64_t b, h;

  Head(const WkvProblem& p, std::int64_t batch, std::int64_t head)
      : problem(p), args(p.args()), b(batch), h(head) {}

  std::int64_t step(std::int64_t n) const { return args.reverse ? args.T - 1 - n : n; }
  std::int64_t row(std::int64_t n) const { return (b * args.T + step(n)) * args.H + h; }

  static Array read(const float* data, std::int64_t count) {
    return Eigen::Map<const Eigen::ArrayXf>(data, count).cast<double>();
  }
  Array q(std::int64_t n) const { return read(args.q + row(n) * args.K, args.K); }
  Array k(std::int64_t n) const { return read(args.k + row(n) * args.K, args.K); }
  Array v(std::int64_t n) const { return read(args.v + row(n) * args.V, args.V); }
  Array log_w(std::int64_t n) const {
    return read(args.log_w + b * args.log_w_stride_B + step(n) * args.log_w_stride_T + h * args.K,
                args.K);
  }
  Array u() const { return read(args.u + h * args.K, args.K); }
  Matrix initial_state() const {
    if (args.initial_state == nullptr) return Matrix::Zero(args.K, args.V);
    return Eigen::Map<const FloatMatrix>(args.initial_state + (b * args.H + h) * args.K * args.V,
                                         args.K, args.V)
        .cast<double>();
  }
};

// Eigen's own vectorised exp clamps its argument, so exp(-inf) would not be 0.
Array exact_exp(const Array& x) {
  return x.unaryExpr([](double value) { return std::exp(value); });
}

WkvResult sized(const WkvCase& c) {
  WkvResult result;
  result.o.resize(c.B * c.T * c.H * c.V);
  result.final_state.resize(c.B * c.H * c.K * c.V);
  return result;
}

void store(std::vector<double>& to, std::int64_t row, const Matrix& matrix) {
  std::copy(matrix.data(), matrix.data() + matrix.size(), to.begin() + row * matrix.size());
}

}  // namespace

WkvResult wkv_recurrence(const WkvProblem& problem) {
  const WkvCase& c = problem.wkv_case;
  auto result = sized(c);
#pragma omp parallel for collapse(2)
  for (std::int64_t b = 0; b < c.B; ++b) {
    for (std::int64_t h = 0; h < c.H; ++h) {
      const Head head(problem, b, h);
      const Array u = head.u();
      Matrix state = head.initial_state();
      for (std::int64_t n = 0; n < c.T; ++n) {
        const Array k = head.k(n), v = head.v(n), w = exact_exp(head.log_w(n));
        const Matrix kv = k.matrix() * v.matrix().transpose();
        const Matrix with_bonus = state + u.matrix().asDiagonal() * kv;
        const Matrix o = c.scale * (head.q(n).matrix().transpose() * with_bonus);
        store(result.o, head.row(n), o);
        state = w.matrix().asDiagonal() * state + kv;
      }
      store(result.final_state, b * c.H + h, state);
    }
  }
  return result;
}

WkvResult wkv_closed_sum(const WkvProblem& problem) {
  const WkvCase& c = problem.wkv_case;
  auto result = sized(c);
#pragma omp parallel for collapse(2)
  for (std::int64_t b = 0; b < c.B; ++b) {
    for (std::int64_t h = 0; h < c.H; ++h) {
      const Head head(problem, b, h);
      // sum over earlier steps of exp(sum of the log decays since) * k v^T, walking back from step n
      const auto state_before = [&](std::int64_t n) {
        Matrix state = Matrix::Zero(c.K, c.V);
        Array log_decay = Array::Zero(c.K);
        for (std::int64_t s = n - 1; s >= 0; --s) {
          state += (exact_exp(log_decay) * head.k(s)).matrix() * head.v(s).matrix().transpose();
          log_decay += head.log_w(s);
        }
        state += exact_exp(log_decay).matrix().asDiagonal() * head.initial_state();
        return state;
      };
      for (std::int64_t n = 0; n < c.T; ++n) {
        const double bonus = (head.q(n) * head.u() * head.k(n)).sum();
        const Matrix o = c.scale * (head.q(n).matrix().transpose() * state_before(n) +
                                    bonus * head.v(n).matrix().transpose());
        store(result.o, head.row(n), o);
      }
      store(result.final_state, b * c.H + h, state_before(c.T));
    }
  }
  return result;
}

}  // namespace ladder::reference
