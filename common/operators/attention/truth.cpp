#include "common/operators/attention/truth.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "common/core/threads.hpp"
#include "common/operators/attention/truth_parts.hpp"

namespace ladder {
namespace {

using namespace attention;

// Results of successive queries.
struct Block {
  Matrix o;
  Vector lse, largest;

  Block(std::int64_t count, std::int64_t D_v)
      : o(Matrix::Zero(count, D_v)),
        lse(Vector::Constant(count, -kInfinity)),
        largest(Vector::Constant(count, -kInfinity)) {}
};

// Calls compute_rows(head, first, rows) for all queries, in blocks of kBlock.
template <typename ComputeRows>
AttentionResult for_every_query(const AttentionArgs& a, const ComputeRows& compute_rows) {
  AttentionResult result;
  const std::int64_t D_v = a.channels_of_v();
  result.o.resize(a.B * a.T_q * a.H_q * D_v);
  result.lse.resize(a.B * a.H_q * a.T_q);
  result.largest.resize(result.lse.size());
#pragma omp parallel for collapse(2) if (worth_threads(attention_fma_count(a)))
  for (std::int64_t n = 0; n < sequence_count(a); ++n) {
    for (std::int64_t h = 0; h < a.H_q; ++h) {
      const Head head(a, n, h);
      for (std::int64_t first = 0; first < head.sequence.queries; first += kBlock) {
        Block rows(std::min(kBlock, head.sequence.queries - first), D_v);
        compute_rows(head, first, rows);
        for (std::int64_t r = 0; r < rows.o.rows(); ++r) {
          const std::int64_t l = first + r;
          std::copy_n(rows.o.row(r).data(), D_v, result.o.begin() + head.query_row(l) * D_v);
          result.lse[head.lse_index(l)] = rows.lse[r];
          result.largest[head.lse_index(l)] = rows.largest[r];
        }
      }
    }
  }
  return result;
}

// Root of the sum of each element's squared terms, to which rounding errors are relative. The error
// of a score is an error of its weight: `score_roundoff` times the score's terms, in units of the
// rounding of any other factor. For lse they are the terms inside the logarithm.
AttentionResult attention_terms(const AttentionArgs& a, double score_roundoff) {
  return for_every_query(a, [&](const Head& head, std::int64_t first, Block& rows) {
    const std::int64_t count = rows.o.rows(), n = head.keys_seen(first + count - 1);
    rows.lse.setZero();
    if (n == 0) return;
    Matrix p = head.scores(first, count, n);
    const Matrix score_terms = head.squared_score_terms(first, count, n);
    for (std::int64_t r = 0; r < count; ++r) {
      auto weights = head.seen(p.row(r), first + r);
      if (weights.size() == 0) continue;
      weights = exact_exp(weights.array() - weights.maxCoeff());
      weights /= weights.sum();
    }
    const Matrix v = head.v.topRows(n), v2 = v.cwiseAbs2(), mean = product(p, v);
    const Matrix p2 = p.cwiseAbs2();
    const Matrix off = p2.cwiseProduct(score_terms);
    rows.lse = (p2 + off).rowwise().sum().cwiseSqrt();
    // A score's error also changes the divisor, so its factor is v minus the mean instead of v.
    Matrix moved = product(off, v2) - 2 * mean.cwiseProduct(product(off, v));
    moved += off.rowwise().sum().asDiagonal() * mean.cwiseAbs2();
    rows.o = (product(p2, v2) + score_roundoff * score_roundoff * moved.cwiseMax(0.0)).cwiseSqrt();
  });
}

}  // namespace

AttentionResult attention_closed_sum(const AttentionArgs& a) {
  return for_every_query(a, [](const Head& head, std::int64_t first, Block& rows) {
    const std::int64_t count = rows.o.rows(), n = head.keys_seen(first + count - 1);
    if (n == 0) return;
    Matrix p = head.scores(first, count, n);
    Vector sum = Vector::Ones(count);
    for (std::int64_t r = 0; r < count; ++r) {
      auto weights = head.seen(p.row(r), first + r);
      if (weights.size() == 0) continue;
      rows.largest[r] = weights.maxCoeff();
      weights = exact_exp(weights.array() - rows.largest[r]);
      sum[r] = weights.sum();
      rows.lse[r] = rows.largest[r] + std::log(sum[r]);
    }
    rows.o = product(p, head.v.topRows(n)).array().colwise() / sum.array();
  });
}

std::vector<Truth> attention_truth(const AttentionProblem& problem, Arithmetic arithmetic) {
  constexpr const char* kRule = "a query that sees no key must have o = 0 and lse = -inf, exactly";
  const AttentionArgs a = problem.args();
  const Counted counted{a, problem.drawn_case().precision};
  const Roundings of_o =
      counted.roundings(arithmetic == Arithmetic::kBf16Operands ? 1 : 0, counted.keys());
  AttentionResult values = attention_closed_sum(a);
  AttentionResult terms = attention_terms(a, counted.score_roundoff(of_o));
  Exact rows_of_o = exactly(kRule, Reached(a).queries, a.channels_of_v()), of_lse{{}, kRule};
  if (!rows_of_o.elements.empty()) {
    for (const double lse : values.lse)
      of_lse.elements.push_back(lse == -kInfinity);
  }
  // lse has no rounded operands, because q and k are used as stored and the weights are fp32.
  return {{std::move(values.o), std::move(terms.o), of_o, std::move(rows_of_o)},
          {std::move(values.lse), std::move(terms.lse), Roundings{.sums = counted.of_sums(0)},
           std::move(of_lse)}};
}

}  // namespace ladder
