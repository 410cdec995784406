#include "common/operators/attention/walk.hpp"

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "common/operators/threads.hpp"

namespace ladder::reference {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

std::int64_t tiled(std::int64_t count, std::int64_t tile) {
  return (count + tile - 1) / tile * tile;
}

// Query l of a sequence and a head.
void walk_row(const AttentionProblem& problem, const Walk& how, const AttentionProblem::Sequence& s,
              std::int64_t l, std::int64_t h, AttentionResult& result) {
  const AttentionArgs a = problem.args();
  const auto row = [&](const float* data) {
    return Eigen::Map<const Eigen::VectorXf>(data, a.D).cast<double>();
  };
  const Eigen::VectorXd q = row(a.q + ((s.first_query + l) * a.H_q + h) * a.D);
  const auto key = [&](std::int64_t c) {
    return ((s.first_key + c) * a.H_kv + h / (a.H_q / a.H_kv)) * a.D;
  };
  const std::int64_t seen = problem.keys_seen(s, l);
  std::int64_t visited = seen;
  if (how.query_tile > 0) {
    const std::int64_t last = std::min(tiled(l + 1, how.query_tile), s.queries) - 1;
    visited = tiled(problem.keys_seen(s, last), how.tile);
  }
  if (visited == 0) return;
  Eigen::VectorXd o = Eigen::VectorXd::Zero(a.D);
  std::vector<double> scores(visited, 0.0);
  for (std::int64_t c = 0; c < std::min(visited, s.keys); ++c)
    scores[c] = a.scale * q.dot(row(a.k + key(c)));
  double largest = -kInfinity, sum = 0;
  const std::int64_t tiles = tiled(visited, how.tile) / how.tile;
  for (std::int64_t n = 0; n < tiles; ++n) {
    const std::int64_t first = (how.last_first ? tiles - 1 - n : n) * how.tile;
    const std::int64_t end = std::min(first + how.tile, visited);
    const double before = largest;
    const double of_tile = *std::max_element(scores.begin() + first, scores.begin() + end);
    largest = how.maximum_carried ? std::max(before, of_tile) : of_tile;
    // Without a carried maximum it may overflow, as a float does.
    double rescale = std::exp(before - largest);
    if (rescale > std::numeric_limits<float>::max()) rescale = kInfinity;
    if (how.o_rescaled) o *= rescale;
    if (how.sum_rescaled) sum *= rescale;
    for (std::int64_t c = first; c < end; ++c) {
      const double p = std::exp(scores[c] - largest);
      sum += p;
      if (c < seen) o += p * row(a.v + key(c));
    }
  }
  const std::int64_t at = problem.lse_index(s.first_query + l, h);
  Eigen::Map<Eigen::VectorXd>(result.o.data() + ((s.first_query + l) * a.H_q + h) * a.D, a.D) =
      o / sum;
  result.lse[at] = largest + std::log(sum);
  result.largest[at] = largest;
}

}  // namespace

AttentionResult walk(const AttentionProblem& problem, const Walk& how) {
  const AttentionCase& c = problem.attention_case;
  AttentionResult result;
  result.o.resize(problem.q.data.size());
  result.lse.resize(c.B * c.H_q * c.T_q, -kInfinity);
  result.largest = result.lse;
#pragma omp parallel for collapse(2) if (worth_threads(attention_fma_count(problem.args())))
  for (std::int64_t n = 0; n < c.sequences(); ++n) {
    for (std::int64_t h = 0; h < c.H_q; ++h) {
      const AttentionProblem::Sequence s = problem.sequence(n);
      for (std::int64_t l = 0; l < s.queries; ++l)
        walk_row(problem, how, s, l, h, result);
    }
  }
  return result;
}

}  // namespace ladder::reference
