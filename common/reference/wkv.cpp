#include "common/reference/wkv.hpp"

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>

#include "common/reference/backwards.hpp"
#include "common/reference/threads.hpp"

namespace ladder::reference {
namespace {

using Eigen::Dynamic;
using Eigen::RowMajor;
using Matrix = Eigen::Matrix<double, Dynamic, Dynamic, RowMajor>;
using FloatMatrix = Eigen::Matrix<float, Dynamic, Dynamic, RowMajor>;
using Array = Eigen::ArrayXd;

Array read(const float* data, std::int64_t count) {
  return Eigen::Map<const Eigen::ArrayXf>(data, count).cast<double>();
}

// One head of one sequence: the vectors of its n-th step, in the order time runs.
struct Head {
  WkvArgs args;
  WkvProblem::Sequence sequence;
  std::int64_t state;  // which (K, V) of the states
  std::int64_t h;

  Head(const WkvProblem& p, std::int64_t n, std::int64_t head)
      : args(p.args()), sequence(p.sequence(n)), state(n * args.H + head), h(head) {}

  std::int64_t step(std::int64_t n) const {
    return sequence.first + (args.reverse ? sequence.length - 1 - n : n);
  }
  std::int64_t row(std::int64_t n) const { return step(n) * args.H + h; }
  // Where log_w and its gradient are: no step moves it where the decay is per head.
  std::int64_t decay(std::int64_t n) const { return step(n) * args.log_w_stride_T + h * args.K; }

  Array q(std::int64_t n) const { return read(args.q + row(n) * args.K, args.K); }
  Array k(std::int64_t n) const { return read(args.k + row(n) * args.K, args.K); }
  Array v(std::int64_t n) const { return read(args.v + row(n) * args.V, args.V); }
  Array log_w(std::int64_t n) const { return read(args.log_w + decay(n), args.K); }
  Array u() const {
    return args.u == nullptr ? Array::Zero(args.K) : read(args.u + h * args.K, args.K);
  }
  // Of an array of states; zeros where there is none.
  Matrix state_of(const float* states) const {
    if (states == nullptr) return Matrix::Zero(args.K, args.V);
    return Eigen::Map<const FloatMatrix>(states + state * args.K * args.V, args.K, args.V)
        .cast<double>();
  }
};

// Eigen's own vectorised exp clamps its argument, so exp(-inf) would not be 0.
Array exact_exp(const Array& x) {
  return x.unaryExpr([](double value) { return std::exp(value); });
}

Matrix outer(const Array& a, const Array& b) {
  return a.matrix() * b.matrix().transpose();
}

Matrix scaled_rows(const Array& factors, const Matrix& matrix) {
  return factors.matrix().asDiagonal() * matrix;
}

template <typename Values>
void store(std::vector<double>& to, std::int64_t row, const Values& values) {
  std::copy(values.data(), values.data() + values.size(), to.begin() + row * values.size());
}

void add(std::vector<double>& to, std::int64_t at, const Array& values) {
  Eigen::Map<Array>(to.data() + at, values.size()) += values;
}

// Runs compute_head(head, result) for every head of every sequence.
template <typename ComputeHead>
WkvResult for_every_head(const WkvProblem& problem, const ComputeHead& compute_head) {
  const WkvCase& c = problem.wkv_case;
  WkvResult result;
  result.o.resize(c.B * c.T * c.H * c.V);
  result.final_state.resize(c.sequences() * c.H * c.K * c.V);
#pragma omp parallel for collapse(2) if (worth_threads(wkv_fma_count(problem.args())))
  for (std::int64_t n = 0; n < c.sequences(); ++n) {
    for (std::int64_t h = 0; h < c.H; ++h)
      compute_head(Head(problem, n, h), result);
  }
  return result;
}

}  // namespace

WkvResult wkv_recurrence(const WkvProblem& problem) {
  const WkvCase& c = problem.wkv_case;
  return for_every_head(problem, [&](const Head& head, WkvResult& result) {
    const Array u = head.u();
    Matrix state = head.state_of(head.args.initial_state);
    for (std::int64_t n = 0; n < head.sequence.length; ++n) {
      const Matrix kv = outer(head.k(n), head.v(n));
      const Matrix updated = scaled_rows(exact_exp(head.log_w(n)), state) + kv;
      const Matrix read =
          c.recurrence == Recurrence::kGla ? updated : Matrix(state + scaled_rows(u, kv));
      const Matrix o = c.scale * (head.q(n).matrix().transpose() * read);
      store(result.o, head.row(n), o);
      state = updated;
    }
    store(result.final_state, head.state, state);
  });
}

WkvResult wkv_closed_sum(const WkvProblem& problem) {
  const WkvCase& c = problem.wkv_case;
  return for_every_head(problem, [&](const Head& head, WkvResult& result) {
    // sum over earlier steps of exp(sum of the log decays since) * k v^T, walking back from step n
    const auto state_before = [&](std::int64_t n) {
      Matrix state = Matrix::Zero(c.K, c.V);
      Array log_decay = Array::Zero(c.K);
      for (std::int64_t s = n - 1; s >= 0; --s) {
        state += outer(exact_exp(log_decay) * head.k(s), head.v(s));
        log_decay += head.log_w(s);
      }
      state += scaled_rows(exact_exp(log_decay), head.state_of(head.args.initial_state));
      return state;
    };
    for (std::int64_t n = 0; n < head.sequence.length; ++n) {
      const bool gla = c.recurrence == Recurrence::kGla;
      const double bonus = gla ? 0 : (head.q(n) * head.u() * head.k(n)).sum();
      const Matrix o = c.scale * (head.q(n).matrix().transpose() * state_before(gla ? n + 1 : n) +
                                  bonus * head.v(n).matrix().transpose());
      store(result.o, head.row(n), o);
    }
    store(result.final_state, head.state, state_before(head.sequence.length));
  });
}

BasicWkvGradients<double> wkv_gradients(const WkvGradProblem& problem) {
  const WkvProblem& forward = problem.forward;
  const WkvCase& c = forward.wkv_case;
  const bool gla = c.recurrence == Recurrence::kGla;
  BasicWkvGradients<double> result;
  result.dq.resize(forward.q.data.size());
  result.dk.resize(forward.k.data.size());
  result.dv.resize(forward.v.data.size());
  result.d_log_w.resize(forward.log_w.data.size());
  result.du.resize(forward.u.data.size());
  result.d_initial_state.resize(forward.initial_state.data.size());
  // Sequences share d_log_w and du, heads share nothing.
#pragma omp parallel for if (worth_threads(wkv_fma_count(forward.args())))
  for (std::int64_t h = 0; h < c.H; ++h) {
    for (std::int64_t sequence = 0; sequence < c.sequences(); ++sequence) {
      const Head head(forward, sequence, h);
      const Array u = head.u();
      const auto advance = [&](Matrix& state, std::int64_t n) {
        state = scaled_rows(exact_exp(head.log_w(n)), state) + outer(head.k(n), head.v(n));
      };
      Matrix G = head.state_of(problem.d_final_state.pointer());
      const auto visit = [&](std::int64_t n, const Matrix& state) {
        const Array q = head.q(n), k = head.k(n), v = head.v(n), w = exact_exp(head.log_w(n));
        const Array d_o = read(problem.d_o.pointer() + head.row(n) * c.V, c.V);
        const Matrix kv = outer(k, v);
        const Matrix d_read = c.scale * outer(q, d_o);  // of the matrix that q reads
        const Matrix read = gla ? Matrix(scaled_rows(w, state) + kv) : state + scaled_rows(u, kv);
        if (gla) G += d_read;
        const Matrix d_kv = gla ? G : G + scaled_rows(u, d_read);
        store(result.dq, head.row(n), Array(c.scale * (read * d_o.matrix())));
        store(result.dk, head.row(n), Array(d_kv * v.matrix()));
        store(result.dv, head.row(n), Array(d_kv.transpose() * k.matrix()));
        add(result.d_log_w, head.decay(n), w * G.cwiseProduct(state).rowwise().sum().array());
        if (!gla) add(result.du, h * c.K, d_read.cwiseProduct(kv).rowwise().sum().array());
        G = scaled_rows(w, G);
        if (!gla) G += d_read;
      };
      visit_states_backwards(head.state_of(head.args.initial_state), head.sequence.length, advance,
                             visit);
      if (!result.d_initial_state.empty()) store(result.d_initial_state, head.state, G);
    }
  }
  return result;
}

}  // namespace ladder::reference
