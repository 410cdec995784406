#include "common/operators/attention/truth.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "common/core/errors.hpp"
#include "common/core/generator.hpp"
#include "common/core/threads.hpp"
#include "common/judge/matrix.hpp"
#include "common/operators/attention/operator.hpp"

namespace ladder {
namespace {

using Vector = Eigen::VectorXd;
using Gradients = BasicAttentionGradients<double>;

// Queries that are computed together: as products of matrices, which are several times as fast.
constexpr std::int64_t kBlock = 64;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// An exponential, a sum, a quotient and a difference, the first and the third of which are approximated.
constexpr double kRoundingsOfTanh = 16;

// A sum that a score or its gradient is made of has so many terms.
std::int64_t terms_of_sum(const AttentionArgs& a) {
  return std::max(a.D, a.channels_of_v());
}

// Head h of `count` rows of a (rows, H, D) array.
Matrix rows_of(const float* data, std::int64_t first, std::int64_t count, std::int64_t H,
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
  // The sums of their squared terms. An absolute error of a score is a relative one of its weight. tanh is made of terms of 1, some of
  // which are rounded, where a sum has D roundings.
  Matrix squared_score_terms(std::int64_t first, std::int64_t count, std::int64_t n) const {
    const Matrix terms =
        scale * scale *
        product(q.middleRows(first, count).cwiseAbs2(), k.topRows(n).cwiseAbs2().transpose());
    if (a.softcap == 0) return terms;
    const double of_tanh = a.softcap * a.softcap * kRoundingsOfTanh / terms_of_sum(a);
    const Matrix tanh = scores(first, count, n) / a.softcap;
    return (terms.array() * (1 - tanh.array().square()).square() + of_tanh).matrix();
  }
  // The derivative of those scores by the products, scaled: 1, or with a softcap 1 - tanh^2.
  Matrix slopes(const Matrix& scores) const {
    if (a.softcap == 0) return Matrix::Ones(scores.rows(), scores.cols());
    return (1 - (scores.array() / a.softcap).square()).matrix();
  }
  // The squares of their errors, in the unit of squared_score_terms(): a score's error by the derivative of tanh^2.
  Matrix squared_slope_terms(const Matrix& scores, const Matrix& squared_score_terms) const {
    if (a.softcap == 0) return Matrix::Zero(scores.rows(), scores.cols());
    const double softcap = a.softcap;
    return (4 * (scores.array() / (softcap * softcap)).square() * squared_score_terms.array())
        .matrix();
  }
  // Of a row of query l, the keys that it sees; what stands for others becomes 0.
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

// Results of some successive queries.
struct Block {
  Matrix o;
  Vector lse, largest;

  Block(std::int64_t count, std::int64_t D_v)
      : o(Matrix::Zero(count, D_v)),
        lse(Vector::Constant(count, -kInfinity)),
        largest(Vector::Constant(count, -kInfinity)) {}
};

// Runs compute_rows(head, first, rows) for all queries, kBlock of them at a time.
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

// The root of the sum of each element's squared terms: rounding errors are relative to these. A score's error is an error of its
// weight; it is `score_roundoff` of the score's terms, where a rounding of anything else that is multiplied is 1. Of lse: the error
// of the sum that it stands for.
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
    // A weight's own error takes v with it; that of a score moves the mean towards v.
    Matrix moved = product(off, v2) - 2 * mean.cwiseProduct(product(off, v));
    moved += off.rowwise().sum().asDiagonal() * mean.cwiseAbs2();
    rows.o = (product(p2, v2) + score_roundoff * score_roundoff * moved.cwiseMax(0.0)).cwiseSqrt();
  });
}

// What a formula is asked for: its value, or the sum of its squared terms. The second takes the squares of all that is multiplied. With
// few keys, or where one key has all the weight, nothing is left of d_o . v - delta but terms.
enum class Of { kValue, kSquaredTerms };

// As attention_terms' score_roundoff.
struct ScoreRoundoff {
  double dv = 0;  // of the weights' gradient
  double ds = 0;  // of those of the scores, dq and dk
};

Gradients sum_gradients(const AttentionGradArgs& args, const AttentionResult& exact, Of of,
                        ScoreRoundoff roundoff = {}) {
  const AttentionArgs& a = args.forward;
  const std::int64_t D_v = a.channels_of_v();
  Gradients result;
  result.dq.resize(a.B * a.T_q * a.H_q * a.D);
  result.dk.resize(a.B * a.T_k * a.H_kv * a.D);
  result.dv.resize(a.B * a.T_k * a.H_kv * D_v);
  const auto term = [&](const Eigen::Ref<const Matrix>& x) {
    return of == Of::kSquaredTerms ? Matrix(x.cwiseAbs2()) : Matrix(x);
  };
  const double sign = of == Of::kSquaredTerms ? 1 : -1;
  const auto add_to = [&](std::vector<double>& gradient, std::int64_t row, const Vector& part) {
    Eigen::Map<Vector>(gradient.data() + row * part.size(), part.size()) += part;
  };
  // The query heads of a group share dk and dv.
#pragma omp parallel for collapse(2) if (worth_threads(attention_fma_count(a)))
  for (std::int64_t n = 0; n < sequence_count(a); ++n) {
    for (std::int64_t h_kv = 0; h_kv < a.H_kv; ++h_kv) {
      const std::int64_t group = a.H_q / a.H_kv;
      for (std::int64_t h = h_kv * group; h < (h_kv + 1) * group; ++h) {
        const Head head(a, n, h);
        const double scale = of == Of::kSquaredTerms ? head.scale * head.scale : head.scale;
        const AttentionSequence& s = head.sequence;
        const Matrix q = term(head.q), k = term(head.k), v = term(head.v);
        const Matrix d_o = term(rows_of(args.d_o, s.first_query, s.queries, a.H_q, D_v, h));
        Matrix dk = Matrix::Zero(s.keys, a.D), dv = Matrix::Zero(s.keys, D_v);
        for (std::int64_t first = 0; first < s.queries; first += kBlock) {
          const std::int64_t count = std::min(kBlock, s.queries - first);
          const std::int64_t n = head.keys_seen(first + count - 1);
          const auto d_o_rows = d_o.middleRows(first, count);
          Matrix p = head.scores(first, count, n);
          Matrix slope = head.slopes(p), score_terms, slope_terms;
          if (of == Of::kSquaredTerms) {
            score_terms = head.squared_score_terms(first, count, n);
            slope_terms = head.squared_slope_terms(p, score_terms);
          }
          Matrix ds = product(d_o_rows, v.topRows(n).transpose());
          for (std::int64_t r = 0; r < count; ++r) {
            const std::int64_t l = first + r, row = head.query_row(l);
            const Matrix o = term(Eigen::Map<const Matrix>(exact.o.data() + row * D_v, 1, D_v));
            const double delta = d_o.row(l).dot(o.row(0));
            const double lse = exact.lse[head.lse_index(l)];
            auto weights = head.seen(p.row(r), l);
            weights = exact_exp(weights.array() - lse);
            if (of == Of::kSquaredTerms && weights.size() > 0)
              score_terms.row(r).array() += lse * lse;
            ds.row(r).array() += sign * delta;
          }
          Matrix p_of_dv = p;
          if (of == Of::kSquaredTerms) {
            p = p.cwiseAbs2();
            p_of_dv = p + roundoff.dv * roundoff.dv * p.cwiseProduct(score_terms);
            slope = slope.cwiseAbs2();
            slope += roundoff.ds * roundoff.ds * (slope.cwiseProduct(score_terms) + slope_terms);
          }
          ds.array() *= p.array() * slope.array();
          const Matrix dq = scale * product(ds, k.topRows(n));
          for (std::int64_t r = 0; r < count; ++r)
            add_to(result.dq, head.query_row(first + r), dq.row(r));
          dk.topRows(n) += scale * product(ds.transpose(), q.middleRows(first, count));
          dv.topRows(n) += product(p_of_dv.transpose(), d_o_rows);
        }
        for (std::int64_t key = 0; key < s.keys; ++key) {
          add_to(result.dk, head.key_row(key), dk.row(key));
          add_to(result.dv, head.key_row(key), dv.row(key));
        }
      }
    }
  }
  if (of == Of::kSquaredTerms) {
    for (std::vector<double>* squares : {&result.dq, &result.dk, &result.dv}) {
      for (double& x : *squares)
        x = std::sqrt(x);
    }
  }
  return result;
}

// What is rounded on the way to a result (common/judge/limits.hpp). A sum has a score's D terms, and `additions` of its own; so many of a
// term's `operands` are rounded.
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
  // How much wrong a score is, relatively, where what else is rounded is wrong by 1.
  double score_roundoff(const Roundings& roundings) const {
    return roundings.operands == 0 ? 1 : of_sums(0) / roundings.operands;
  }
};

// The elements of an array with these rows of D, or of 1, that must be right exactly: those that nothing reaches.
Exact exactly(const char* rule, const std::vector<bool>& reached, std::int64_t D) {
  if (std::find(reached.begin(), reached.end(), false) == reached.end()) return {};
  Exact exact{std::vector<bool>(reached.size() * D), rule};
  for (std::size_t i = 0; i < exact.elements.size(); ++i)
    exact.elements[i] = !reached[i / D];
  return exact;
}

// Whether each of `queries`, (B * T_q) x H_q, sees a key, and each of `keys`, (B * T_k) x H_kv, is seen.
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

}  // namespace

std::int64_t sequence_count(const AttentionArgs& a) {
  return a.cu_seqlens_q == nullptr ? a.B : a.sequences;
}

AttentionSequence sequence_of(const AttentionArgs& a, std::int64_t n) {
  if (a.cu_seqlens_q == nullptr)
    return {n * a.T_q, a.T_q, n * a.T_k, a.key_lengths == nullptr ? a.T_k : a.key_lengths[n]};
  const std::int64_t *queries = a.cu_seqlens_q + n, *keys = a.cu_seqlens_k + n;
  return {queries[0], queries[1] - queries[0], keys[0], keys[1] - keys[0]};
}

std::int64_t keys_seen(const AttentionArgs& a, const AttentionSequence& sequence, std::int64_t l) {
  if (!a.causal) return sequence.keys;
  return std::max<std::int64_t>(0, l + 1 + sequence.keys - sequence.queries);
}

std::int64_t first_key_seen(const AttentionArgs& a, const AttentionSequence& sequence,
                            std::int64_t l) {
  if (a.window == 0) return 0;
  return std::max<std::int64_t>(0, keys_seen(a, sequence, l) - a.window);
}

std::int64_t lse_index(const AttentionArgs& a, std::int64_t row, std::int64_t h) {
  return (row / a.T_q * a.H_q + h) * a.T_q + row % a.T_q;
}

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

Gradients attention_gradients(const AttentionGradArgs& a) {
  return sum_gradients(a, attention_closed_sum(a.forward), Of::kValue);
}

std::vector<Truth> Attention::truth(const Problem& problem, Arithmetic arithmetic) {
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
  // lse is of scores, whose operands are stored, and of a sum of weights that are not rounded.
  return {{std::move(values.o), std::move(terms.o), of_o, std::move(rows_of_o)},
          {std::move(values.lse), std::move(terms.lse), Roundings{.sums = counted.of_sums(0)},
           std::move(of_lse)}};
}

std::vector<Truth> AttentionBackward::truth(const Problem& problem, Arithmetic arithmetic) {
  const AttentionGradArgs args = problem.args();
  const AttentionArgs& a = args.forward;
  const Precision stored = problem.drawn_case().precision;
  const bool rounds = arithmetic == Arithmetic::kBf16Operands;
  const Counted counted{a, stored};
  // o is stored as the tensors are, and delta made from it; the gradients of scores are rounded.
  const double of_scores = stored == Precision::kFp32 ? 0 : rounds ? 2 : 1;
  const Roundings of_dq = counted.roundings(of_scores, counted.keys()),
                  of_dk = counted.roundings(of_scores, counted.queries()),
                  of_dv = counted.roundings(rounds ? 1 : 0, counted.queries());
  const AttentionResult exact = attention_closed_sum(a);
  Gradients values = sum_gradients(args, exact, Of::kValue);
  Gradients terms =
      sum_gradients(args, exact, Of::kSquaredTerms,
                    {.dv = counted.score_roundoff(of_dv), .ds = counted.score_roundoff(of_dq)});
  const Reached reached(a);
  const auto of_keys = [&](std::int64_t D) {
    return exactly("the gradient of a key that no query sees must be 0, exactly", reached.keys, D);
  };
  return {{std::move(values.dq), std::move(terms.dq), of_dq,
           exactly("the gradient of a query that sees no key must be 0, exactly", reached.queries,
                   a.D)},
          {std::move(values.dk), std::move(terms.dk), of_dk, of_keys(a.D)},
          {std::move(values.dv), std::move(terms.dv), of_dv, of_keys(a.channels_of_v())}};
}

void take_forward_pass(AttentionGradProblem& problem) {
  const AttentionResult exact = attention_closed_sum(problem.args().forward);
  problem["o"] = {exact.o.begin(), exact.o.end()};
  problem["lse"] = {exact.lse.begin(), exact.lse.end()};
}

AttentionGradProblem make_grad_problem(const AttentionProblem& forward) {
  const AttentionCase& c = forward.drawn_case();
  AttentionGradProblem problem;
  problem.drawn_case() = c;
  for (const char* name : {"q", "k", "v"})
    problem[name] = forward[name];
  for (const char* name : {"key_lengths", "cu_seqlens_q", "cu_seqlens_k"})
    problem.array<std::int64_t>(name) = forward.array<std::int64_t>(name);
  take_forward_pass(problem);
  problem["d_o"] = Generator(~c.seed).reals(c.B * c.T_q * c.H_q * c.channels_of_v(), -1.0f, 1.0f);
  problem.round_to_storage();
  return problem;
}

void AttentionGradInputs::draw(AttentionGradProblem& problem) {
  problem = make_grad_problem(make_problem(problem.drawn_case()));
}

}  // namespace ladder
