// Shared by the truths of attention and its gradients: a head in float64, and counts of roundings.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "common/judge/limits.hpp"
#include "common/judge/matrix.hpp"
#include "common/operators/attention/cases.hpp"
#include "common/operators/attention/visible.hpp"

namespace ladder::attention {

using Vector = Eigen::VectorXd;

// Queries per block. Matrix products of a block are several times as fast as single rows.
constexpr std::int64_t kBlock = 64;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// An exponential, a sum, a quotient and a difference. Exponential and quotient are approximated.
constexpr double kRoundingsOfTanh = 16;

// Terms of the longest sum in a score or its gradient.
inline std::int64_t terms_of_sum(const AttentionArgs& a) {
  return std::max(a.D, a.channels_of_v());
}

// Head h of `count` rows of a (rows, H, D) array.
inline Matrix rows_of(const float* data, std::int64_t first, std::int64_t count, std::int64_t H,
                      std::int64_t D, std::int64_t h) {
  return matrix_of(data + (first * H + h) * D, count, D, H * D);
}

// One query head of one sequence.
struct Head {
  const AttentionArgs& a;
  AttentionSequence sequence;
  std::int64_t h, h_kv;
  double scale;
  Matrix q, k, v;

  Head(const AttentionArgs& args, std::int64_t n, std::int64_t head)
      : a(args),
        sequence(sequence_of(a, n)),
        h(head),
        h_kv(h / (a.H_q / a.H_kv)),
        scale(a.scale),
        q(rows_of(a.q, sequence.first_query, sequence.queries, a.H_q, a.D, h)),
        k(rows_of(a.k, sequence.first_key, sequence.keys, a.H_kv, a.D, h_kv)),
        v(rows_of(a.v, sequence.first_key, sequence.keys, a.H_kv, a.channels_of_v(), h_kv)) {}

  std::int64_t query_row(std::int64_t l) const { return (sequence.first_query + l) * a.H_q + h; }
  std::int64_t key_row(std::int64_t c) const { return (sequence.first_key + c) * a.H_kv + h_kv; }
  std::int64_t lse_index(std::int64_t l) const {
    return ladder::lse_index(a, sequence.first_query + l, h);
  }
  std::int64_t keys_seen(std::int64_t l) const { return ladder::keys_seen(a, sequence, l); }
  std::int64_t first_key_seen(std::int64_t l) const {
    return ladder::first_key_seen(a, sequence, l);
  }

  // The scores of `count` queries from `first` on, with the first n keys.
  Matrix scores(std::int64_t first, std::int64_t count, std::int64_t n) const {
    const Matrix s = scale * product(q.middleRows(first, count), k.topRows(n).transpose());
    if (a.softcap == 0) return s;
    return s.unaryExpr([&](double x) { return a.softcap * std::tanh(x / a.softcap); });
  }
  // The sums of their squared terms. An absolute error of a score is a relative error of its
  // weight. tanh adds kRoundingsOfTanh roundings of 1, where a sum has one per term.
  Matrix squared_score_terms(std::int64_t first, std::int64_t count, std::int64_t n) const {
    const Matrix terms =
        scale * scale *
        product(q.middleRows(first, count).cwiseAbs2(), k.topRows(n).cwiseAbs2().transpose());
    if (a.softcap == 0) return terms;
    const double of_tanh = a.softcap * a.softcap * kRoundingsOfTanh / terms_of_sum(a);
    const Matrix tanh = scores(first, count, n) / a.softcap;
    return (terms.array() * (1 - tanh.array().square()).square() + of_tanh).matrix();
  }
  // The derivative of the scores by the scaled products: 1, or with a softcap 1 - tanh^2.
  Matrix slopes(const Matrix& scores) const {
    if (a.softcap == 0) return Matrix::Ones(scores.rows(), scores.cols());
    return (1 - (scores.array() / a.softcap).square()).matrix();
  }
  // Squared errors of the slopes: squared_score_terms() times the squared derivative of tanh^2.
  Matrix squared_slope_terms(const Matrix& scores, const Matrix& squared_score_terms) const {
    if (a.softcap == 0) return Matrix::Zero(scores.rows(), scores.cols());
    const double softcap = a.softcap;
    return (4 * (scores.array() / (softcap * softcap)).square() * squared_score_terms.array())
        .matrix();
  }
  // The elements of query l's row for the keys that it sees. All others become 0.
  template <typename Row>
  auto seen(Row row, std::int64_t l) const {
    const std::int64_t from = first_key_seen(l), to = keys_seen(l);
    row.head(from).setZero();
    row.tail(row.size() - to).setZero();
    return row.segment(from, to - from);
  }
};

// Eigen's own vectorised exp clamps its argument.
template <typename Array>
auto exact_exp(const Array& x) {
  return x.unaryExpr([](double value) { return std::exp(value); }).matrix().eval();
}

// Counts of roundings (common/judge/limits.hpp). A sum has the terms of a score and `additions` of
// its own, and each term has `operands` rounded factors.
struct Counted {
  const AttentionArgs& a;
  Precision stored;

  Roundings roundings(double operands, double additions) const {
    Roundings result = stored_in(stored);
    result.operands = unit_roundoff(stored) * std::sqrt(operands);
    result.sums = of_sums(additions);
    return result;
  }
  double of_sums(double additions) const {
    return kFp32Roundoff *
           std::sqrt(static_cast<double>(terms_of_sum(a)) + additions + kFewRoundings);
  }
  double keys() const { return static_cast<double>(a.T_k); }
  double queries() const {
    return static_cast<double>(a.T_q * (a.H_q / std::max<std::int64_t>(1, a.H_kv)));
  }
  // The relative error of a score, in units of the rounding of the other factors.
  double score_roundoff(const Roundings& roundings) const {
    return roundings.operands == 0 ? 1 : of_sums(0) / roundings.operands;
  }
};

// Elements that must be exact, because their row of D elements is not reached.
inline Exact exactly(const char* rule, const std::vector<bool>& reached, std::int64_t D) {
  if (std::find(reached.begin(), reached.end(), false) == reached.end()) return {};
  Exact exact{std::vector<bool>(reached.size() * D), rule};
  for (std::size_t i = 0; i < exact.elements.size(); ++i)
    exact.elements[i] = !reached[i / D];
  return exact;
}

// Which queries, (B * T_q, H_q), see a key, and which keys, (B * T_k, H_kv), are seen.
struct Reached {
  std::vector<bool> queries, keys;

  explicit Reached(const AttentionArgs& a)
      : queries(a.B * a.T_q * a.H_q), keys(a.B * a.T_k * a.H_kv) {
    for (std::int64_t n = 0; n < sequence_count(a); ++n) {
      const AttentionSequence s = sequence_of(a, n);
      for (std::int64_t l = 0; l < s.queries; ++l) {
        if (keys_seen(a, s, l) > 0)
          std::fill_n(queries.begin() + (s.first_query + l) * a.H_q, a.H_q, true);
      }
      if (s.queries == 0) continue;
      const std::int64_t first = first_key_seen(a, s, 0);
      std::fill_n(keys.begin() + (s.first_key + first) * a.H_kv, (s.keys - first) * a.H_kv, true);
    }
  }
};

}  // namespace ladder::attention
