#include "common/operators/wkv/reference.hpp"

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>

#include "common/operators/threads.hpp"
#include "common/operators/wkv/backwards.hpp"

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

// What a formula is asked for: its value, or the sum of its squared terms. Both are the same formula. The terms are products, so the
// second takes the squares of all that is multiplied: of a decay, its logarithm twice.
enum class Of { kValue, kSquaredTerms };

// One head of one sequence: the vectors of its n-th step, in the order time runs.
struct Head {
  WkvArgs args;
  WkvProblem::Sequence sequence;
  std::int64_t state;  // which (K, V) of the states
  std::int64_t h;
  Of of;

  Head(const WkvProblem& p, std::int64_t n, std::int64_t head, Of of_what)
      : args(p.args()), sequence(p.sequence(n)), state(n * args.H + head), h(head), of(of_what) {}

  template <typename Values>
  Values factors(Values values) const {
    if (of == Of::kSquaredTerms) values = values.unaryExpr([](double x) { return x * x; }).eval();
    return values;
  }
  double scale() const {
    const double scale = args.scale;
    return of == Of::kSquaredTerms ? scale * scale : scale;
  }

  std::int64_t step(std::int64_t n) const {
    return sequence.first + (args.reverse ? sequence.length - 1 - n : n);
  }
  std::int64_t row(std::int64_t n) const { return step(n) * args.H + h; }
  // Where log_w and its gradient are: no step moves it where the decay is per head.
  std::int64_t decay(std::int64_t n) const { return step(n) * args.log_w_stride_T + h * args.K; }

  Array q(std::int64_t n) const { return factors(read(args.q + row(n) * args.K, args.K)); }
  Array k(std::int64_t n) const { return factors(read(args.k + row(n) * args.K, args.K)); }
  Array v(std::int64_t n) const { return factors(read(args.v + row(n) * args.V, args.V)); }
  Array log_w(std::int64_t n) const {
    return (of == Of::kSquaredTerms ? 2.0 : 1.0) * read(args.log_w + decay(n), args.K);
  }
  Array u() const {
    return args.u == nullptr ? Array::Zero(args.K) : factors(read(args.u + h * args.K, args.K));
  }
  // Of an array of states; zeros where there is none.
  Matrix state_of(const float* states) const {
    if (states == nullptr) return Matrix::Zero(args.K, args.V);
    return factors<Matrix>(
        Eigen::Map<const FloatMatrix>(states + state * args.K * args.V, args.K, args.V)
            .cast<double>());
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
WkvResult for_every_head(const WkvProblem& problem, Of of, const ComputeHead& compute_head) {
  const WkvCase& c = problem.wkv_case;
  WkvResult result;
  result.o.resize(c.B * c.T * c.H * c.V);
  result.final_state.resize(c.sequences() * c.H * c.K * c.V);
#pragma omp parallel for collapse(2) if (worth_threads(wkv_fma_count(problem.args())))
  for (std::int64_t n = 0; n < c.sequences(); ++n) {
    for (std::int64_t h = 0; h < c.H; ++h)
      compute_head(Head(problem, n, h, of), result);
  }
  return result;
}

void take_roots(std::vector<double>& squares) {
  for (double& x : squares)
    x = std::sqrt(x);
}

WkvResult recurrence(const WkvProblem& problem, Of of) {
  const WkvCase& c = problem.wkv_case;
  return for_every_head(problem, of, [&](const Head& head, WkvResult& result) {
    const Array u = head.u();
    Matrix state = head.state_of(head.args.initial_state);
    for (std::int64_t n = 0; n < head.sequence.length; ++n) {
      const Matrix kv = outer(head.k(n), head.v(n));
      const Matrix updated = scaled_rows(exact_exp(head.log_w(n)), state) + kv;
      const Matrix read =
          c.recurrence == Recurrence::kGla ? updated : Matrix(state + scaled_rows(u, kv));
      const Matrix o = head.scale() * (head.q(n).matrix().transpose() * read);
      store(result.o, head.row(n), o);
      state = updated;
    }
    store(result.final_state, head.state, state);
  });
}

}  // namespace

WkvResult wkv_recurrence(const WkvProblem& problem) {
  return recurrence(problem, Of::kValue);
}

WkvResult wkv_terms(const WkvProblem& problem) {
  WkvResult terms = recurrence(problem, Of::kSquaredTerms);
  take_roots(terms.o);
  take_roots(terms.final_state);
  return terms;
}

WkvResult wkv_closed_sum(const WkvProblem& problem) {
  const WkvCase& c = problem.wkv_case;
  return for_every_head(problem, Of::kValue, [&](const Head& head, WkvResult& result) {
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

namespace {

BasicWkvGradients<double> gradients(const WkvGradProblem& problem, Of of) {
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
      const Head head(forward, sequence, h, of);
      const Array u = head.u();
      const auto advance = [&](Matrix& state, std::int64_t n) {
        state = scaled_rows(exact_exp(head.log_w(n)), state) + outer(head.k(n), head.v(n));
      };
      Matrix G = head.state_of(problem.d_final_state.pointer());
      const auto visit = [&](std::int64_t n, const Matrix& state) {
        const Array q = head.q(n), k = head.k(n), v = head.v(n), w = exact_exp(head.log_w(n));
        const Array d_o = head.factors(read(problem.d_o.pointer() + head.row(n) * c.V, c.V));
        const Matrix kv = outer(k, v);
        const Matrix d_read = head.scale() * outer(q, d_o);  // of the matrix that q reads
        const Matrix read = gla ? Matrix(scaled_rows(w, state) + kv) : state + scaled_rows(u, kv);
        if (gla) G += d_read;
        const Matrix d_kv = gla ? G : G + scaled_rows(u, d_read);
        store(result.dq, head.row(n), Array(head.scale() * (read * d_o.matrix())));
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

}  // namespace

BasicWkvGradients<double> wkv_gradients(const WkvGradProblem& problem) {
  return gradients(problem, Of::kValue);
}

namespace {

// The squared terms of a d_log_w that is summed over all steps. A product of d_o, q, k and v is a term of every step between its k and
// its q: once for each decay that it carries, so many times the same, for what is rounded on its way is rounded once for all of them.
// A d_log_w in fp32 beside bf16 promises more: where there is no decay, nothing but states is rounded, and each step's anew, so that
// each step's term is one of its own, as in `gradients`.
void add_up_steps(const WkvGradProblem& problem, std::vector<double>& squared_terms) {
  const WkvProblem& forward = problem.forward;
  const WkvCase& c = forward.wkv_case;
  std::vector<double> sums(squared_terms.size(), 0.0);
  for (std::int64_t h = 0; h < c.H; ++h) {
    for (std::int64_t sequence = 0; sequence < c.sequences(); ++sequence) {
      const Head head(forward, sequence, h, Of::kSquaredTerms);
      // With n for the decays that a product carries: the sums of 1, n and n^2 times it.
      Matrix once = head.state_of(head.args.initial_state);
      Matrix n_times = Matrix::Zero(c.K, c.V), squared = n_times;
      const auto decay = [&](const Array& w) {
        squared = scaled_rows(w, squared + 2 * n_times + once);
        n_times = scaled_rows(w, n_times + once);
        once = scaled_rows(w, once);
      };
      const auto read_by = [&](std::int64_t n) {
        const Array d_o = head.factors(read(problem.d_o.pointer() + head.row(n) * c.V, c.V));
        add(sums, h * c.K, head.scale() * head.q(n) * (squared * d_o.matrix()).array());
      };
      for (std::int64_t n = 0; n < head.sequence.length; ++n) {
        if (c.recurrence == Recurrence::kWkv) read_by(n);
        decay(exact_exp(head.log_w(n)));
        once += outer(head.k(n), head.v(n));
        if (c.recurrence == Recurrence::kGla) read_by(n);
      }
      const Matrix d_state = head.state_of(problem.d_final_state.pointer());
      add(sums, h * c.K, squared.cwiseProduct(d_state).rowwise().sum().array());
    }
  }
  for (std::size_t i = 0; i < sums.size(); ++i) {
    if (forward.log_w.data[i] != 0 || c.precision == Precision::kBf16) squared_terms[i] = sums[i];
  }
}

}  // namespace

BasicWkvGradients<double> wkv_gradient_terms(const WkvGradProblem& problem) {
  BasicWkvGradients<double> terms = gradients(problem, Of::kSquaredTerms);
  if (problem.forward.wkv_case.decay_per_head) add_up_steps(problem, terms.d_log_w);
  for (std::vector<double>* squares :
       {&terms.dq, &terms.dk, &terms.dv, &terms.d_log_w, &terms.du, &terms.d_initial_state})
    take_roots(*squares);
  return terms;
}

}  // namespace ladder::reference
