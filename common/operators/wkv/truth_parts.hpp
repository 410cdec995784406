// Shared by the truths of WKV, GLA and their gradients: a head in float64, and counts of roundings.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "common/judge/limits.hpp"
#include "common/judge/matrix.hpp"
#include "common/operators/wkv/cases.hpp"

namespace ladder::wkv {

using Array = Eigen::ArrayXd;

inline Array read(const float* data, std::int64_t count) {
  return Eigen::Map<const Eigen::ArrayXf>(data, count).cast<double>();
}

// A formula's value, or the sum of its squared terms. Terms are products, so the same formula gives
// the second from squared factors, where a decay is squared by doubling its logarithm.
enum class Of { kValue, kSquaredTerms };

// One head of one sequence. Its steps are numbered in the direction of time.
struct Head {
  const WkvArgs& args;
  WkvSequence sequence;
  std::int64_t state;  // index of its (K, V) in the states
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
  // The offset of log_w and its gradient. A decay per head has a stride of 0.
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
  // The head's (K, V) in an array of states, or zeros for null.
  Matrix state_of(const float* states) const {
    if (states == nullptr) return Matrix::Zero(args.K, args.V);
    return factors(matrix_of(states + state * args.K * args.V, args.K, args.V));
  }
};

// Eigen's own vectorised exp clamps its argument, so exp(-inf) would not be 0.
inline Array exact_exp(const Array& x) {
  return x.unaryExpr([](double value) { return std::exp(value); });
}

inline Matrix outer(const Array& a, const Array& b) {
  return a.matrix() * b.matrix().transpose();
}

inline Matrix scaled_rows(const Array& factors, const Matrix& matrix) {
  return factors.matrix().asDiagonal() * matrix;
}

template <typename Values>
void store(std::vector<double>& to, std::int64_t row, const Values& values) {
  std::copy(values.data(), values.data() + values.size(), to.begin() + row * values.size());
}

inline void add(std::vector<double>& to, std::int64_t at, const Array& values) {
  Eigen::Map<Array>(to.data() + at, values.size()) += values;
}

inline void take_roots(std::vector<double>& squares) {
  for (double& x : squares)
    x = std::sqrt(x);
}

// Roundings in a step of a recurrence: the product with the decay, the sum, and the decay itself,
// whose exp may be off by a unit in the last place. That is two roundoffs, which count as 4.
constexpr double kOfStep = 6;

// The roundings of a term of an output.
struct Path {
  double additions;    // of a sum over channels, keys or queries
  double recurrences;  // number of states in the term
  double operands;     // rounded factors with Arithmetic::kBf16Operands
  bool stored;         // like the tensors, else in fp32
};

inline Path path_of(const WkvCase& c, const std::string& output) {
  const double K = static_cast<double>(c.K), V = static_cast<double>(c.V);
  const double T = static_cast<double>(c.B * c.T);
  // Decayed q and k, and the state or the score.
  if (output == "o" || output == "dv") return {K, 1, 3, true};
  if (output == "dq" || output == "dk") return {V, 1, 3, true};
  // State and adjoint, their factors, and the product of the two.
  if (output == "d_log_w")
    return {c.decay_per_head ? V * T : V, 2, 5, c.precision == Precision::kBf16};
  // Products of stored values, without rounded factors.
  if (output == "du") return {V * T, 0, 0, false};
  return {0, 1, 1, false};  // the states
}

// Roundings of a term in later steps, which multiply it by w, in the channel that forgets slowest.
struct Memory {
  double roundings = 1;  // sum of w^2d, for independent roundings
  double alike = 0;      // sum of w^d, for a decay that is the same in every step but not 1
};

inline Memory remembered(const WkvCase& c, const WkvArgs& a) {
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

// fp16's absolute error of decayed keys in a state: half the distance between its smallest numbers,
// times the largest value, per remembered step. Stored outputs have it anyway.
inline double least_of_state(const WkvArgs& a, const Memory& memory) {
  const Array values = read(a.v, a.B * a.T * a.H * a.V).abs();
  if (values.size() == 0) return 0;
  return kLeastRoundoff<float16> * values.maxCoeff() * std::sqrt(memory.roundings);
}

inline Roundings roundings_of(const WkvCase& c, const WkvArgs& forward, const Memory& memory,
                              const std::string& output, Arithmetic arithmetic) {
  const Path path = path_of(c, output);
  Roundings result = path.stored ? stored_in(c.precision) : Roundings{};
  if (arithmetic == Arithmetic::kBf16Operands) {
    result.operands = unit_roundoff(c.precision) * std::sqrt(path.operands);
    if (c.precision == Precision::kFp16 && !path.stored)
      result.least = least_of_state(forward, memory);
  }
  result.rows_share = output == "d_log_w";  // a sum over steps, one more than in the row before
  result.sums =
      kFp32Roundoff *
      (std::sqrt(path.additions + kOfStep * path.recurrences * memory.roundings + kFewRoundings) +
       path.recurrences * memory.alike);
  return result;
}

template <typename Result>
std::vector<Truth> truth_of(const Problem& problem, const WkvCase& c, const WkvArgs& forward,
                            const Result& values, Result squared_terms, Arithmetic arithmetic) {
  const Memory memory = remembered(c, forward);
  std::vector<Truth> result;
  for_each_in_order(problem, values, [&](const std::string& name, const auto& output, std::size_t) {
    result.push_back({output, {}, roundings_of(c, forward, memory, name, arithmetic)});
  });
  for_each_in_order(problem, squared_terms, [&](const std::string&, auto terms, std::size_t n) {
    take_roots(terms);
    result[n].terms = std::move(terms);
  });
  return result;
}

}  // namespace ladder::wkv
