#include "common/operators/linear_attention/truth.hpp"

#include <algorithm>
#include <cmath>

#include "common/core/threads.hpp"
#include "common/judge/matrix.hpp"
#include "common/operators/linear_attention/operator.hpp"

namespace ladder {
namespace {

Matrix phi(const Matrix& x, FeatureMap feature_map) {
  if (feature_map == FeatureMap::kIdentity) return x;
  return (x.array() > 0).select(x.array() + 1.0, x.array().min(0.0).exp()).matrix();
}

// The (T, width) matrix of one head of a (B, T, H, width) array.
Matrix head_of(const float* data, std::int64_t T, std::int64_t H, std::int64_t width,
               std::int64_t b, std::int64_t h) {
  return matrix_of(data + (b * T * H + h) * width, T, width, H * width);
}

// Calls compute_head(q, k, v, key_count) -> (T_q, V + 1), numerators and a column of denominators.
template <typename ComputeHead>
std::vector<double> for_every_head(const LinearAttentionProblem& problem,
                                   ComputeHead compute_head) {
  const LinearAttentionCase& c = problem.drawn_case();
  const LinearAttentionArgs args = problem.args();
  std::vector<double> o(c.B * c.T_q * c.H * c.V);
#pragma omp parallel for collapse(2) if (worth_threads(linear_attention_fma_count(args)))
  for (std::int64_t b = 0; b < c.B; ++b) {
    for (std::int64_t h = 0; h < c.H; ++h) {
      const std::int64_t key_count = args.key_lengths ? args.key_lengths[b] : c.T_k;
      const auto q = phi(head_of(args.q, c.T_q, c.H, c.K, b, h), c.feature_map);
      const auto k = phi(head_of(args.k, c.T_k, c.H, c.K, b, h), c.feature_map);
      const auto v = head_of(args.v, c.T_k, c.H, c.V, b, h);
      Matrix v_and_one(c.T_k, c.V + 1);
      v_and_one << v, Matrix::Ones(c.T_k, 1);
      const Matrix sums = compute_head(q, k, v_and_one, key_count);
      for (std::int64_t l = 0; l < c.T_q; ++l) {
        const double divisor = c.normalize ? sums(l, c.V) + args.eps : 1.0;
        for (std::int64_t i = 0; i < c.V; ++i) {
          o[((b * c.T_q + l) * c.H + h) * c.V + i] = sums(l, i) / divisor;
        }
      }
    }
  }
  return o;
}

}  // namespace

std::vector<double> linear_attention_recurrence(const LinearAttentionProblem& problem) {
  const LinearAttentionCase& c = problem.drawn_case();
  return for_every_head(
      problem, [&](const Matrix& q, const Matrix& k, const Matrix& v, std::int64_t key_count) {
        Matrix state = Matrix::Zero(q.cols(), v.cols());
        Matrix sums = Matrix::Zero(q.rows(), v.cols());
        std::int64_t s = 0;
        for (std::int64_t l = 0; l < q.rows(); ++l) {
          const std::int64_t seen = c.causal ? std::min(l + 1, key_count) : key_count;
          for (; s < seen; ++s)
            state += k.row(s).transpose() * v.row(s);
          sums.row(l) = q.row(l) * state;
        }
        return sums;
      });
}

std::vector<double> linear_attention_terms(const LinearAttentionProblem& problem) {
  const LinearAttentionCase& c = problem.drawn_case();
  const bool positive = c.feature_map == FeatureMap::kEluPlusOne;
  return for_every_head(
      problem, [&](const Matrix& q, const Matrix& k, const Matrix& v, std::int64_t key_count) {
        // phi > 0, so a score does not cancel. It is one term, not far below |phi(q)| |phi(k)|.
        const Matrix q2 = positive ? Matrix(q.rowwise().squaredNorm()) : Matrix(q.cwiseAbs2());
        const Matrix k2 = positive ? Matrix(k.rowwise().squaredNorm()) : Matrix(k.cwiseAbs2());
        Matrix state = Matrix::Zero(q2.cols(), c.V), sums = Matrix::Zero(q.rows(), v.cols());
        Eigen::RowVectorXd key_sum = Eigen::RowVectorXd::Zero(q.cols());
        std::int64_t s = 0;
        for (std::int64_t l = 0; l < q.rows(); ++l) {
          const std::int64_t seen = c.causal ? std::min(l + 1, key_count) : key_count;
          for (; s < seen; ++s) {
            state += k2.row(s).transpose() * v.row(s).head(c.V).cwiseAbs2();
            key_sum += k.row(s);
          }
          sums.row(l).head(c.V) = (q2.row(l) * state).cwiseSqrt();
          sums(l, c.V) = q.row(l).dot(key_sum);
        }
        return sums;
      });
}

std::vector<double> linear_attention_closed_sum(const LinearAttentionProblem& problem) {
  const LinearAttentionCase& c = problem.drawn_case();
  return for_every_head(
      problem, [&](const Matrix& q, const Matrix& k, const Matrix& v, std::int64_t key_count) {
        Matrix scores = product(q, k.transpose());
        for (std::int64_t l = 0; l < q.rows(); ++l) {
          for (std::int64_t s = 0; s < k.rows(); ++s) {
            if (s >= key_count || (c.causal && s > l)) scores(l, s) = 0;
          }
        }
        return product(scores, v);
      });
}

std::vector<Truth> linear_attention_truth(const LinearAttentionProblem& problem,
                                          Arithmetic arithmetic) {
  const LinearAttentionCase& c = problem.drawn_case();
  const double u = unit_roundoff(c.precision), K = static_cast<double>(c.K);
  Roundings roundings = stored_in(c.precision);
  roundings.rows_share = true;  // many queries read one state
  // phi(q), phi(k), and the state or the score.
  if (arithmetic == Arithmetic::kBf16Operands) roundings.operands = u * std::sqrt(3.0);
  roundings.sums = kFp32Roundoff * std::sqrt(K + static_cast<double>(c.T_k) + kFewRoundings);
  // phi of small numbers is 1, and a sum of n equal terms is off by n / 4 units on average.
  if (c.feature_map == FeatureMap::kEluPlusOne) roundings.sums += kFp32Roundoff * K / 4;
  return {{linear_attention_recurrence(problem), linear_attention_terms(problem), roundings}};
}

}  // namespace ladder
