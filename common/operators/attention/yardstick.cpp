#include <algorithm>
#include <cmath>
#include <limits>

#include "common/operators/threads.hpp"
#include "common/operators/yardstick.hpp"

namespace ladder::reference {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

float dot(const float* a, const float* b, std::int64_t D) {
  float sum = 0;
  for (std::int64_t j = 0; j < D; ++j)
    sum += a[j] * b[j];
  return sum;
}

void add(float* to, float factor, const float* from, std::int64_t D) {
  for (std::int64_t j = 0; j < D; ++j)
    to[j] += factor * from[j];
}

// The rows of one head's keys or values, one channel after the other. The products of a row with all of them are then summed side by
// side, each in its order.
struct Columns {
  std::int64_t rows, D;
  std::vector<float> data;  // (D, rows)

  Columns(const float* from, std::int64_t rows_, std::int64_t stride, std::int64_t D_)
      : rows(rows_), D(D_), data(rows_ * D_) {
    for (std::int64_t r = 0; r < rows; ++r) {
      for (std::int64_t j = 0; j < D; ++j)
        data[j * rows + r] = from[r * stride + j];
    }
  }

  // With the first n rows.
  std::vector<float> dots(const float* x, std::int64_t n) const {
    std::vector<float> sums(n, 0.0f);
    for (std::int64_t j = 0; j < D; ++j)
      add(sums.data(), x[j], data.data() + j * rows, n);
    return sums;
  }
};

// The problem as a plain loop sees it.
struct Loop {
  const AttentionProblem& problem;
  AttentionArgs a;
  Precision operands;  // what a product takes is rounded to it

  Loop(const AttentionProblem& p, Arithmetic arithmetic)
      : problem(p),
        a(p.args()),
        operands(arithmetic == Arithmetic::kFp32 ? Precision::kFp32 : p.attention_case.precision) {}

  std::int64_t query(const AttentionProblem::Sequence& s, std::int64_t l, std::int64_t h) const {
    return ((s.first_query + l) * a.H_q + h) * a.D;
  }
  std::int64_t key(const AttentionProblem::Sequence& s, std::int64_t c, std::int64_t h) const {
    return ((s.first_key + c) * a.H_kv + h / (a.H_q / a.H_kv)) * a.D;
  }
  Columns columns(const float* x, const AttentionProblem::Sequence& s, std::int64_t h) const {
    return {x + key(s, 0, h), s.keys, a.H_kv * a.D, a.D};
  }
  float operand(float x) const { return rounded(x, operands); }

  // Of the keys that query l sees.
  std::vector<float> scores(const AttentionProblem::Sequence& s, std::int64_t l, std::int64_t h,
                            const Columns& k) const {
    std::vector<float> scores = k.dots(a.q + query(s, l, h), problem.keys_seen(s, l));
    for (float& score : scores)
      score *= a.scale;
    return scores;
  }

  void store(std::vector<float>& values) const {
    for (float& x : values)
      x = rounded(x, problem.attention_case.precision);
  }
};

}  // namespace

AttentionOutputs attention_plain(const AttentionProblem& problem, Arithmetic arithmetic) {
  const Loop loop(problem, arithmetic);
  const AttentionArgs& a = loop.a;
  AttentionOutputs out;
  out.o.resize(problem.q.data.size());
  out.lse.resize(a.B * a.H_q * a.T_q);
#pragma omp parallel for collapse(2) if (worth_threads(attention_fma_count(a)))
  for (std::int64_t n = 0; n < problem.attention_case.sequences(); ++n) {
    for (std::int64_t h = 0; h < a.H_q; ++h) {
      const AttentionProblem::Sequence s = problem.sequence(n);
      const Columns k = loop.columns(a.k, s, h);
      for (std::int64_t l = 0; l < s.queries; ++l) {
        const std::vector<float> scores = loop.scores(s, l, h, k);
        float* o = out.o.data() + loop.query(s, l, h);
        float largest = -kInfinity, sum = 0;
        for (const float score : scores)
          largest = std::max(largest, score);
        for (std::size_t c = 0; c < scores.size(); ++c) {
          const float p = std::exp(scores[c] - largest);
          sum += p;
          add(o, loop.operand(p), a.v + loop.key(s, c, h), a.D);
        }
        for (std::int64_t i = 0; i < a.D && !scores.empty(); ++i)
          o[i] /= sum;
        out.lse[problem.lse_index(s.first_query + l, h)] = largest + std::log(sum);
      }
    }
  }
  loop.store(out.o);
  return out;
}

AttentionGradients attention_gradients_plain(const AttentionGradProblem& problem,
                                             Arithmetic arithmetic) {
  const AttentionProblem& forward = problem.forward;
  const Loop loop(forward, arithmetic);
  const AttentionArgs& a = loop.a;
  AttentionGradients out;
  out.dq.resize(forward.q.data.size());
  out.dk.resize(forward.k.data.size());
  out.dv.resize(forward.v.data.size());
#pragma omp parallel for collapse(2) if (worth_threads(attention_fma_count(a)))
  for (std::int64_t n = 0; n < forward.attention_case.sequences(); ++n) {
    for (std::int64_t h_kv = 0; h_kv < a.H_kv; ++h_kv) {
      const AttentionProblem::Sequence s = forward.sequence(n);
      const std::int64_t group = a.H_q / a.H_kv;
      const Columns k = loop.columns(a.k, s, h_kv * group), v = loop.columns(a.v, s, h_kv * group);
      for (std::int64_t h = h_kv * group; h < (h_kv + 1) * group; ++h) {
        for (std::int64_t l = 0; l < s.queries; ++l) {
          const std::int64_t query = loop.query(s, l, h);
          const float* d_o = problem.d_o.pointer() + query;
          const float delta = dot(d_o, problem.o.pointer() + query, a.D);
          const float lse = problem.lse.data[forward.lse_index(s.first_query + l, h)];
          const std::vector<float> scores = loop.scores(s, l, h, k);
          const std::vector<float> dp = v.dots(d_o, scores.size());
          for (std::size_t c = 0; c < scores.size(); ++c) {
            const std::int64_t key = loop.key(s, c, h);
            const float p = std::exp(scores[c] - lse);
            const float ds = loop.operand(p * (dp[c] - delta));
            add(out.dv.data() + key, loop.operand(p), d_o, a.D);
            add(out.dk.data() + key, ds * a.scale, a.q + query, a.D);
            add(out.dq.data() + query, ds * a.scale, a.k + key, a.D);
          }
        }
      }
    }
  }
  for (std::vector<float>* gradient : {&out.dq, &out.dk, &out.dv})
    loop.store(*gradient);
  return out;
}

}  // namespace ladder::reference
