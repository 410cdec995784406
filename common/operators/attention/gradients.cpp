// Truth of attention's gradients. Formulas and sources: common/operators/attention/attention.hpp.
#include <algorithm>
#include <cmath>
#include <utility>

#include "common/core/generator.hpp"
#include "common/core/threads.hpp"
#include "common/operators/attention/truth.hpp"
#include "common/operators/attention/truth_parts.hpp"

namespace ladder {
namespace {

using namespace attention;
using Gradients = BasicAttentionGradients<double>;

// A formula's value, or the sum of its squared terms, which is computed from squared factors. With
// few keys, or one key with all the weight, d_o . v - delta cancels while its terms do not.
enum class Of { kValue, kSquaredTerms };

// Like score_roundoff of attention_terms().
struct ScoreRoundoff {
  double dv = 0;
  double ds = 0;  // for dq and dk
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
  // Query heads of a group add to the same dk and dv, so one thread computes all of them.
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

}  // namespace

Gradients attention_gradients(const AttentionGradArgs& a) {
  return sum_gradients(a, attention_closed_sum(a.forward), Of::kValue);
}

std::vector<Truth> attention_gradients_truth(const AttentionGradProblem& problem,
                                             Arithmetic arithmetic) {
  const AttentionGradArgs args = problem.args();
  const AttentionArgs& a = args.forward;
  const Precision stored = problem.drawn_case().precision;
  const bool rounds = arithmetic == Arithmetic::kBf16Operands;
  const Counted counted{a, stored};
  // ds has up to two rounded factors: delta, from the stored o, and with kBf16Operands ds itself.
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

void take_forward_pass(Problem& problem) {
  const AttentionResult exact = attention_closed_sum(problem.args<AttentionGradArgs>().forward);
  problem["o"] = {exact.o.begin(), exact.o.end()};
  problem["lse"] = {exact.lse.begin(), exact.lse.end()};
}

AttentionGradProblem make_grad_problem(const AttentionProblem& forward) {
  const AttentionCase& c = forward.drawn_case();
  auto problem = AttentionGradProblem::without_inputs(c);
  for (const char* name : {"q", "k", "v"})
    problem[name] = forward[name];
  for (const char* name : {"key_lengths", "cu_seqlens_q", "cu_seqlens_k"})
    problem.array<std::int64_t>(name) = forward.array<std::int64_t>(name);
  take_forward_pass(problem);
  problem["d_o"] = Generator(~c.seed).reals(c.B * c.T_q * c.H_q * c.channels_of_v(), -1.0f, 1.0f);
  problem.round_to_storage();
  return problem;
}

}  // namespace ladder
