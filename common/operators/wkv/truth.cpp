#include "common/operators/wkv/truth.hpp"

#include <algorithm>
#include <cmath>

#include "common/core/threads.hpp"
#include "common/judge/matrix.hpp"
#include "common/operators/wkv/backwards.hpp"

namespace ladder {
namespace {

using Array = Eigen::ArrayXd;
using Gradients = BasicWkvGradients<double>;

Array read(const float* data, std::int64_t count) {
  return Eigen::Map<const Eigen::ArrayXf>(data, count).cast<double>();
}

// What a formula is asked for: its value, or the sum of its squared terms. Both are the same formula. The terms are products, so the
// second takes the squares of all that is multiplied: of a decay, its logarithm twice.
enum class Of { kValue, kSquaredTerms };

// One head of one sequence: the vectors of its n-th step, in the order time runs.
struct Head {
  const WkvArgs& args;
  WkvSequence sequence;
  std::int64_t state;  // which (K, V) of the states
  std::int64_t h;
  Of of;

  Head(const WkvArgs& a, std::int64_t n, std::int64_t head, Of of_what)
      : args(a), sequence(ladder::sequence(a, n)), state(n * a.H + head), h(head), of(of_what) {}

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
  // Its part of an array of states; zeros where there is none.
  Matrix state_of(const float* states) const {
    if (states == nullptr) return Matrix::Zero(args.K, args.V);
    return factors(matrix_of(states + state * args.K * args.V, args.K, args.V));
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

void take_roots(std::vector<double>& squares) {
  for (double& x : squares)
    x = std::sqrt(x);
}

// Runs compute_head(head, result) for every head of every sequence.
template <typename ComputeHead>
WkvResult for_every_head(const WkvArgs& args, Of of, const ComputeHead& compute_head) {
  const std::int64_t heads = sequence_count(args) * args.H;
  WkvResult result;
  result.o.resize(args.B * args.T * args.H * args.V);
  result.final_state.resize(heads * args.K * args.V);
#pragma omp parallel for if (worth_threads(wkv_fma_count(args)))
  for (std::int64_t n = 0; n < heads; ++n)
    compute_head(Head(args, n / args.H, n % args.H, of), result);
  return result;
}

WkvResult recurrence(const WkvArgs& args, Of of) {
  return for_every_head(args, of, [&](const Head& head, WkvResult& result) {
    const Array u = head.u();
    Matrix state = head.state_of(args.initial_state);
    for (std::int64_t n = 0; n < head.sequence.length; ++n) {
      const Matrix kv = outer(head.k(n), head.v(n));
      const Matrix updated = scaled_rows(exact_exp(head.log_w(n)), state) + kv;
      const Matrix read = is_gla(args) ? updated : Matrix(state + scaled_rows(u, kv));
      const Matrix o = head.scale() * (head.q(n).matrix().transpose() * read);
      store(result.o, head.row(n), o);
      state = updated;
    }
    store(result.final_state, head.state, state);
  });
}

Gradients gradients(const WkvGradArgs& args, Of of) {
  const WkvArgs& a = args.forward;
  const bool gla = is_gla(a);
  Gradients result = zero_gradients<double>(a);
  // Sequences share d_log_w and du, heads share nothing.
#pragma omp parallel for if (worth_threads(wkv_fma_count(a)))
  for (std::int64_t h = 0; h < a.H; ++h) {
    for (std::int64_t sequence = 0; sequence < sequence_count(a); ++sequence) {
      const Head head(a, sequence, h, of);
      const Array u = head.u();
      const auto advance = [&](Matrix& state, std::int64_t n) {
        state = scaled_rows(exact_exp(head.log_w(n)), state) + outer(head.k(n), head.v(n));
      };
      Matrix G = head.state_of(args.d_final_state);
      const auto visit = [&](std::int64_t n, const Matrix& state) {
        const Array q = head.q(n), k = head.k(n), v = head.v(n), w = exact_exp(head.log_w(n));
        const Array d_o = head.factors(read(args.d_o + head.row(n) * a.V, a.V));
        const Matrix kv = outer(k, v);
        const Matrix d_read = head.scale() * outer(q, d_o);  // of the matrix that q reads
        const Matrix read = gla ? Matrix(scaled_rows(w, state) + kv) : state + scaled_rows(u, kv);
        if (gla) G += d_read;
        const Matrix d_kv = gla ? G : G + scaled_rows(u, d_read);
        store(result.dq, head.row(n), Array(head.scale() * (read * d_o.matrix())));
        store(result.dk, head.row(n), Array(d_kv * v.matrix()));
        store(result.dv, head.row(n), Array(d_kv.transpose() * k.matrix()));
        add(result.d_log_w, head.decay(n), w * G.cwiseProduct(state).rowwise().sum().array());
        if (!gla) add(result.du, h * a.K, d_read.cwiseProduct(kv).rowwise().sum().array());
        G = scaled_rows(w, G);
        if (!gla) G += d_read;
      };
      visit_states_backwards(head.state_of(a.initial_state), head.sequence.length, advance, visit);
      if (!result.d_initial_state.empty()) store(result.d_initial_state, head.state, G);
    }
  }
  return result;
}

// The squared terms of a d_log_w that is summed over all steps. A product of d_o, q, k and v is a term of every step between its k and
// its q: once for each decay that it carries, so many times the same, for what is rounded on its way is rounded once for all of them.
// A d_log_w in fp32 beside bf16 promises more: where there is no decay, nothing but states is rounded, and each step's anew, so that
// each step's term is one of its own, as in `gradients`.
void add_up_steps(const WkvGradArgs& args, Precision precision,
                  std::vector<double>& squared_terms) {
  const WkvArgs& a = args.forward;
  std::vector<double> sums(squared_terms.size(), 0.0);
  for (std::int64_t h = 0; h < a.H; ++h) {
    for (std::int64_t sequence = 0; sequence < sequence_count(a); ++sequence) {
      const Head head(a, sequence, h, Of::kSquaredTerms);
      // With n for the decays that a product carries: the sums of 1, n and n^2 times it.
      Matrix once = head.state_of(a.initial_state);
      Matrix n_times = Matrix::Zero(a.K, a.V), squared = n_times;
      const auto decay = [&](const Array& w) {
        squared = scaled_rows(w, squared + 2 * n_times + once);
        n_times = scaled_rows(w, n_times + once);
        once = scaled_rows(w, once);
      };
      const auto read_by = [&](std::int64_t n) {
        const Array d_o = head.factors(read(args.d_o + head.row(n) * a.V, a.V));
        add(sums, h * a.K, head.scale() * head.q(n) * (squared * d_o.matrix()).array());
      };
      for (std::int64_t n = 0; n < head.sequence.length; ++n) {
        if (!is_gla(a)) read_by(n);
        decay(exact_exp(head.log_w(n)));
        once += outer(head.k(n), head.v(n));
        if (is_gla(a)) read_by(n);
      }
      const Matrix d_state = head.state_of(args.d_final_state);
      add(sums, h * a.K, squared.cwiseProduct(d_state).rowwise().sum().array());
    }
  }
  for (std::size_t i = 0; i < sums.size(); ++i) {
    if (a.log_w[i] != 0 || precision == Precision::kBf16) squared_terms[i] = sums[i];
  }
}

// One step of a recurrence: the product with the decay, the sum, and the decay itself, for exp may be off by a unit in the last
// place, two roundoffs, which counts as 4.
constexpr double kOfStep = 6;

// What a term of an output goes through.
struct Path {
  double additions;    // of a sum over channels, keys or queries
  double recurrences;  // states that it is made of
  double operands;     // rounded, with Arithmetic::kBf16Operands
  bool stored;         // as the tensors are; otherwise in fp32
};

Path path_of(const WkvCase& c, const std::string& output) {
  const double K = static_cast<double>(c.K), V = static_cast<double>(c.V);
  const double T = static_cast<double>(c.B * c.T);
  // q and k with decays on them, and the state or the score that they make.
  if (output == "o" || output == "dv") return {K, 1, 3, true};
  if (output == "dq" || output == "dk") return {V, 1, 3, true};
  // Both states, what they are made of, and the product of the two.
  if (output == "d_log_w")
    return {c.decay_per_head ? V * T : V, 2, 5, c.precision == Precision::kBf16};
  // Products of what is stored: nothing else is rounded.
  if (output == "du") return {V * T, 0, 0, false};
  return {0, 1, 1, false};  // the states
}

// The steps that a term outlives, in the channel where they are most: each rounds what is left of it, w of it a step.
struct Memory {
  double roundings = 1;  // sum of w^2d: of roundings that know nothing of each other
  double alike = 0;      // sum of w^d: of a decay that is the same in every step, but not 1
};

Memory remembered(const WkvCase& c, const WkvArgs& a) {
  const bool repeats = c.decay_per_head || c.decay == Decay::kFixed;
  Memory most;
  for (std::int64_t n = 0; n < sequence_count(a); ++n) {
    const WkvSequence s = sequence(a, n);
    std::vector<double> roundings(a.H * a.K, 0.0), alike = roundings;
    for (std::int64_t step = 0; step < s.length; ++step) {
      const std::int64_t t = s.first + (a.reverse ? s.length - 1 - step : step);
      const float* log_w = a.log_w + t * a.log_w_stride_T;
      for (std::int64_t i = 0; i < a.H * a.K; ++i) {
        const double w = std::exp(static_cast<double>(log_w[i]));
        roundings[i] = 1 + w * w * roundings[i];
        alike[i] = log_w[i] == 0 || !repeats ? 0 : 1 + w * alike[i];
        most.roundings = std::max(most.roundings, roundings[i]);
        most.alike = std::max(most.alike, alike[i]);
      }
    }
  }
  return most;
}

// What fp16 leaves of decayed keys, the factors of a state, however small they are: half the distance between its smallest numbers, of the
// largest value, for each step that is remembered. (An output is stored as coarsely itself.)
double least_of_state(const WkvArgs& a, const Memory& memory) {
  const Array values = read(a.v, a.B * a.T * a.H * a.V).abs();
  if (values.size() == 0) return 0;
  return kLeastRoundoff<float16> * values.maxCoeff() * std::sqrt(memory.roundings);
}

Roundings roundings_of(const WkvCase& c, const WkvArgs& forward, const Memory& memory,
                       const std::string& output, Arithmetic arithmetic) {
  const Path path = path_of(c, output);
  Roundings result = path.stored ? stored_in(c.precision) : Roundings{};
  if (arithmetic == Arithmetic::kBf16Operands) {
    result.operands = unit_roundoff(c.precision) * std::sqrt(path.operands);
    if (c.precision == Precision::kFp16 && !path.stored)
      result.least = least_of_state(forward, memory);
  }
  result.sums =
      kFp32Roundoff *
      (std::sqrt(path.additions + kOfStep * path.recurrences * memory.roundings + kFewRoundings) +
       path.recurrences * memory.alike);
  return result;
}

template <typename Inputs, typename Result>
std::vector<Truth> truth_of(const WkvCase& c, const WkvArgs& forward, const Result& values,
                            Result squared_terms, Arithmetic arithmetic) {
  const Memory memory = remembered(c, forward);
  std::vector<Truth> result;
  for_each_in_order<Inputs>(
      c, values, [&](const std::string& name, const auto& output, std::size_t) {
        result.push_back({output, {}, roundings_of(c, forward, memory, name, arithmetic)});
      });
  for_each_in_order<Inputs>(c, squared_terms, [&](const std::string&, auto terms, std::size_t n) {
    take_roots(terms);
    result[n].terms = std::move(terms);
  });
  return result;
}

}  // namespace

WkvResult wkv_recurrence(const WkvArgs& args) {
  return recurrence(args, Of::kValue);
}

WkvResult wkv_closed_sum(const WkvArgs& args) {
  return for_every_head(args, Of::kValue, [&](const Head& head, WkvResult& result) {
    // sum over earlier steps of exp(sum of the log decays since) * k v^T, walking back from step n
    const auto state_before = [&](std::int64_t n) {
      Matrix state = Matrix::Zero(args.K, args.V);
      Array log_decay = Array::Zero(args.K);
      for (std::int64_t s = n - 1; s >= 0; --s) {
        state += outer(exact_exp(log_decay) * head.k(s), head.v(s));
        log_decay += head.log_w(s);
      }
      state += scaled_rows(exact_exp(log_decay), head.state_of(args.initial_state));
      return state;
    };
    for (std::int64_t n = 0; n < head.sequence.length; ++n) {
      const bool gla = is_gla(args);
      const double bonus = gla ? 0 : (head.q(n) * head.u() * head.k(n)).sum();
      const Matrix o =
          args.scale * (head.q(n).matrix().transpose() * state_before(gla ? n + 1 : n) +
                        bonus * head.v(n).matrix().transpose());
      store(result.o, head.row(n), o);
    }
    store(result.final_state, head.state, state_before(head.sequence.length));
  });
}

Gradients wkv_gradients(const WkvGradArgs& args) {
  return gradients(args, Of::kValue);
}

std::vector<Truth> wkv_truth(const WkvProblem& problem, Arithmetic arithmetic) {
  const WkvArgs args = problem.args();
  return truth_of<WkvInputs>(problem.drawn_case(), args, recurrence(args, Of::kValue),
                             recurrence(args, Of::kSquaredTerms), arithmetic);
}

std::vector<Truth> wkv_truth(const WkvGradProblem& problem, Arithmetic arithmetic) {
  const WkvCase& c = problem.drawn_case();
  const WkvGradArgs args = problem.args();
  Gradients squared_terms = gradients(args, Of::kSquaredTerms);
  if (c.decay_per_head) add_up_steps(args, c.precision, squared_terms.d_log_w);
  return truth_of<WkvGradInputs>(c, args.forward, gradients(args, Of::kValue), squared_terms,
                                 arithmetic);
}

}  // namespace ladder
