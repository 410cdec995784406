#include "common/operators/attention/reference.hpp"

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <limits>

#include "common/operators/threads.hpp"

namespace ladder::reference {
namespace {

using Matrix = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
using FloatMatrix = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
using Vector = Eigen::VectorXd;

// Queries that are computed together: as products of matrices, which are several times as fast.
constexpr std::int64_t kBlock = 64;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Head h of `count` rows of a (rows, H, D) array.
Matrix rows_of(const float* data, std::int64_t first, std::int64_t count, std::int64_t H,
               std::int64_t D, std::int64_t h) {
  if (count == 0) return Matrix(0, D);
  using Stride = Eigen::OuterStride<>;
  const Eigen::Map<const FloatMatrix, 0, Stride> view(data + (first * H + h) * D, count, D,
                                                      Stride(H * D));
  return view.cast<double>();
}

// One query head of one sequence.
struct Head {
  const AttentionProblem& problem;
  const KeysSeen& seen;
  AttentionProblem::Sequence sequence;
  std::int64_t h, h_kv;
  double scale;
  Matrix q, k, v;

  Head(const AttentionProblem& p, const KeysSeen& keys_seen, std::int64_t n, std::int64_t head)
      : problem(p), seen(keys_seen), sequence(p.sequence(n)), h(head) {
    const AttentionArgs a = p.args();
    h_kv = h / (a.H_q / a.H_kv);
    scale = a.scale;
    q = rows_of(a.q, sequence.first_query, sequence.queries, a.H_q, a.D, h);
    k = rows_of(a.k, sequence.first_key, sequence.keys, a.H_kv, a.D, h_kv);
    v = rows_of(a.v, sequence.first_key, sequence.keys, a.H_kv, a.D, h_kv);
  }

  std::int64_t query_row(std::int64_t l) const {
    return (sequence.first_query + l) * problem.attention_case.H_q + h;
  }
  std::int64_t key_row(std::int64_t c) const {
    return (sequence.first_key + c) * problem.attention_case.H_kv + h_kv;
  }
  std::int64_t lse_index(std::int64_t l) const {
    return problem.lse_index(sequence.first_query + l, h);
  }

  std::int64_t keys_seen(std::int64_t l) const { return seen[sequence.first_query + l]; }

  // Of `count` queries from `first` on; there must be n keys.
  Matrix scores(std::int64_t first, std::int64_t count, std::int64_t n) const {
    return scale * (q.middleRows(first, count) * k.topRows(n).transpose());
  }
};

// Eigen's own vectorised exp clamps its argument.
template <typename Array>
auto exact_exp(const Array& x) {
  return x.unaryExpr([](double value) { return std::exp(value); }).matrix().eval();
}

// Of some successive queries.
struct Rows {
  Matrix o;
  Vector lse, largest;

  Rows(std::int64_t count, std::int64_t D)
      : o(Matrix::Zero(count, D)),
        lse(Vector::Constant(count, -kInfinity)),
        largest(Vector::Constant(count, -kInfinity)) {}
};

// Runs compute_rows(head, first, rows) for all queries, kBlock of them at a time.
template <typename ComputeRows>
AttentionResult for_every_query(const AttentionProblem& problem, const KeysSeen& seen,
                                const ComputeRows& compute_rows) {
  const AttentionCase& c = problem.attention_case;
  AttentionResult result;
  result.o.resize(problem.q.data.size());
  result.lse.resize(c.B * c.H_q * c.T_q);
  result.largest.resize(result.lse.size());
#pragma omp parallel for collapse(2) if (worth_threads(attention_fma_count(problem.args())))
  for (std::int64_t n = 0; n < c.sequences(); ++n) {
    for (std::int64_t h = 0; h < c.H_q; ++h) {
      const Head head(problem, seen, n, h);
      for (std::int64_t first = 0; first < head.sequence.queries; first += kBlock) {
        Rows rows(std::min(kBlock, head.sequence.queries - first), c.D);
        compute_rows(head, first, rows);
        for (std::int64_t r = 0; r < rows.o.rows(); ++r) {
          const std::int64_t l = first + r;
          std::copy_n(rows.o.row(r).data(), c.D, result.o.begin() + head.query_row(l) * c.D);
          result.lse[head.lse_index(l)] = rows.lse[r];
          result.largest[head.lse_index(l)] = rows.largest[r];
        }
      }
    }
  }
  return result;
}

// The sums of the squared terms of the scores of `count` queries from `first` on and of n keys. An absolute error of a score is a
// relative one of its weight.
Matrix squared_score_terms(const Head& head, std::int64_t first, std::int64_t count,
                           std::int64_t n) {
  return head.scale * head.scale *
         (head.q.middleRows(first, count).cwiseAbs2() * head.k.topRows(n).cwiseAbs2().transpose());
}

void take_roots(std::vector<double>& squares) {
  for (double& x : squares)
    x = std::sqrt(x);
}

}  // namespace

KeysSeen keys_seen(
    const AttentionProblem& problem,
    const std::function<std::int64_t(const AttentionProblem::Sequence&, std::int64_t)>& of_query) {
  const AttentionCase& c = problem.attention_case;
  KeysSeen seen(c.B * c.T_q);
  for (std::int64_t n = 0; n < c.sequences(); ++n) {
    const AttentionProblem::Sequence s = problem.sequence(n);
    for (std::int64_t l = 0; l < s.queries; ++l)
      seen[s.first_query + l] = of_query(s, l);
  }
  return seen;
}

KeysSeen keys_seen(const AttentionProblem& problem) {
  return keys_seen(problem, [&](const auto& s, std::int64_t l) { return problem.keys_seen(s, l); });
}

AttentionResult attention_closed_sum(const AttentionProblem& problem) {
  return attention_closed_sum(problem, keys_seen(problem));
}

AttentionResult attention_closed_sum(const AttentionProblem& problem, const KeysSeen& seen) {
  return for_every_query(problem, seen, [](const Head& head, std::int64_t first, Rows& rows) {
    const std::int64_t count = rows.o.rows(), n = head.keys_seen(first + count - 1);
    if (n == 0) return;
    Matrix p = head.scores(first, count, n);
    Vector sum = Vector::Ones(count);
    for (std::int64_t r = 0; r < count; ++r) {
      const std::int64_t seen = head.keys_seen(first + r);
      p.row(r).tail(n - seen).setZero();
      if (seen == 0) continue;
      auto weights = p.row(r).head(seen);
      rows.largest[r] = weights.maxCoeff();
      weights = exact_exp(weights.array() - rows.largest[r]);
      sum[r] = weights.sum();
      rows.lse[r] = rows.largest[r] + std::log(sum[r]);
    }
    rows.o = (p * head.v.topRows(n)).array().colwise() / sum.array();
  });
}

AttentionResult attention_terms(const AttentionProblem& problem, double score_roundoff) {
  const KeysSeen seen = keys_seen(problem);
  return for_every_query(problem, seen, [&](const Head& head, std::int64_t first, Rows& rows) {
    const std::int64_t count = rows.o.rows(), n = head.keys_seen(first + count - 1);
    rows.lse.setZero();
    if (n == 0) return;
    Matrix p = head.scores(first, count, n);
    const Matrix score_terms = squared_score_terms(head, first, count, n);
    for (std::int64_t r = 0; r < count; ++r) {
      const std::int64_t seen = head.keys_seen(first + r);
      p.row(r).tail(n - seen).setZero();
      if (seen == 0) continue;
      auto weights = p.row(r).head(seen);
      weights = exact_exp(weights.array() - weights.maxCoeff());
      weights /= weights.sum();
    }
    const Matrix v = head.v.topRows(n), mean = p * v, p2 = p.cwiseAbs2();
    const Matrix off = p2.cwiseProduct(score_terms);
    rows.lse = (p2 + off).rowwise().sum().cwiseSqrt();
    // A weight's own error takes v with it; that of a score moves the mean towards v.
    Matrix moved = off * v.cwiseAbs2() - 2 * mean.cwiseProduct(off * v);
    moved += off.rowwise().sum().asDiagonal() * mean.cwiseAbs2();
    rows.o =
        (p2 * v.cwiseAbs2() + score_roundoff * score_roundoff * moved.cwiseMax(0.0)).cwiseSqrt();
  });
}

namespace {

// What a formula is asked for: its value, or the sum of its squared terms. The second takes the squares of all that is multiplied.
enum class Of { kValue, kSquaredTerms };

BasicAttentionGradients<double> sum_gradients(const AttentionGradProblem& problem,
                                              const AttentionResult& exact, const KeysSeen& keys,
                                              Of of, ScoreRoundoff roundoff = {}) {
  const AttentionProblem& forward = problem.forward;
  const AttentionCase& c = forward.attention_case;
  BasicAttentionGradients<double> result;
  result.dq.resize(forward.q.data.size());
  result.dk.resize(forward.k.data.size());
  result.dv.resize(forward.v.data.size());
  const auto term = [&](const Eigen::Ref<const Matrix>& x) {
    return of == Of::kSquaredTerms ? Matrix(x.cwiseAbs2()) : Matrix(x);
  };
  const double sign = of == Of::kSquaredTerms ? 1 : -1;
  const auto add_to = [&](std::vector<double>& gradient, std::int64_t row, const Vector& part) {
    Eigen::Map<Vector>(gradient.data() + row * c.D, c.D) += part;
  };
  // The query heads of a group share dk and dv.
#pragma omp parallel for collapse(2) if (worth_threads(attention_fma_count(forward.args())))
  for (std::int64_t n = 0; n < c.sequences(); ++n) {
    for (std::int64_t h_kv = 0; h_kv < c.H_kv; ++h_kv) {
      const std::int64_t group = c.H_q / c.H_kv;
      for (std::int64_t h = h_kv * group; h < (h_kv + 1) * group; ++h) {
        const Head head(forward, keys, n, h);
        const double scale = of == Of::kSquaredTerms ? head.scale * head.scale : head.scale;
        const AttentionProblem::Sequence& s = head.sequence;
        const Matrix q = term(head.q), k = term(head.k), v = term(head.v);
        const Matrix d_o =
            term(rows_of(problem.d_o.pointer(), s.first_query, s.queries, c.H_q, c.D, h));
        Matrix dk = Matrix::Zero(s.keys, c.D), dv = dk;
        for (std::int64_t first = 0; first < s.queries; first += kBlock) {
          const std::int64_t count = std::min(kBlock, s.queries - first);
          const std::int64_t n = head.keys_seen(first + count - 1);
          const auto d_o_rows = d_o.middleRows(first, count);
          Matrix p = head.scores(first, count, n);
          Matrix score_terms;
          if (of == Of::kSquaredTerms) score_terms = squared_score_terms(head, first, count, n);
          Matrix ds = d_o_rows * v.topRows(n).transpose();
          for (std::int64_t r = 0; r < count; ++r) {
            const std::int64_t l = first + r, seen = head.keys_seen(l), row = head.query_row(l);
            const Matrix o = term(Eigen::Map<const Matrix>(exact.o.data() + row * c.D, 1, c.D));
            const double delta = d_o.row(l).dot(o.row(0));
            const double lse = exact.lse[head.lse_index(l)];
            p.row(r).tail(n - seen).setZero();
            p.row(r).head(seen) = exact_exp(p.row(r).head(seen).array() - lse);
            if (of == Of::kSquaredTerms && seen > 0) score_terms.row(r).array() += lse * lse;
            ds.row(r).array() += sign * delta;
          }
          Matrix p_of_dv = p;
          if (of == Of::kSquaredTerms) {
            p = p.cwiseAbs2();
            p_of_dv = p + roundoff.dv * roundoff.dv * p.cwiseProduct(score_terms);
            p += roundoff.ds * roundoff.ds * p.cwiseProduct(score_terms);
          }
          ds.array() *= p.array();
          const Matrix dq = scale * (ds * k.topRows(n));
          for (std::int64_t r = 0; r < count; ++r)
            add_to(result.dq, head.query_row(first + r), dq.row(r));
          dk.topRows(n) += scale * (ds.transpose() * q.middleRows(first, count));
          dv.topRows(n) += p_of_dv.transpose() * d_o_rows;
        }
        for (std::int64_t key = 0; key < s.keys; ++key) {
          add_to(result.dk, head.key_row(key), dk.row(key));
          add_to(result.dv, head.key_row(key), dv.row(key));
        }
      }
    }
  }
  return result;
}

}  // namespace

BasicAttentionGradients<double> attention_gradients(const AttentionGradProblem& problem,
                                                    const AttentionResult& forward,
                                                    const KeysSeen& seen) {
  return sum_gradients(problem, forward, seen, Of::kValue);
}

BasicAttentionGradients<double> attention_gradients(const AttentionGradProblem& problem) {
  return attention_gradients(problem, attention_closed_sum(problem.forward),
                             keys_seen(problem.forward));
}

BasicAttentionGradients<double> attention_gradient_terms(const AttentionGradProblem& problem,
                                                         const ScoreRoundoff& roundoff) {
  BasicAttentionGradients<double> terms =
      sum_gradients(problem, attention_closed_sum(problem.forward), keys_seen(problem.forward),
                    Of::kSquaredTerms, roundoff);
  for (std::vector<double>* squares : {&terms.dq, &terms.dk, &terms.dv})
    take_roots(*squares);
  return terms;
}

AttentionGradProblem make_attention_grad_problem(AttentionProblem forward) {
  const AttentionResult exact = attention_closed_sum(forward);
  return make_grad_problem(std::move(forward), {exact.o.begin(), exact.o.end()},
                           {exact.lse.begin(), exact.lse.end()});
}

}  // namespace ladder::reference
