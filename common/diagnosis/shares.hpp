// What a wrong result is made of, where no known mistake gives it. o of a step is a sum of the rows of v, each with a factor: the share
// that the step takes from another. Where a head has no more steps than columns, o has only one set of shares. Those that are wrong say
// where to look: the step's own, those of earlier steps, those behind the end of a chunk.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "common/judge/mistakes.hpp"

namespace ladder {

// Computes the shares of results with the same v.
class ShareSolver {
 public:
  // `v` is (B, T_k, H_kv, V), o is (B, T_q, H_q, V); query head h takes the values of head h / (H_q / H_kv). `rounding`: of o, where it
  // is not stored in fp32.
  ShareSolver(const Operand& v, std::int64_t T_q, std::int64_t H_q, double rounding);
  ~ShareSolver();

  // nullopt where o is not a sum of rows of v, or where more sums than one give it.
  std::optional<Shares> shares(const std::vector<double>& o) const;

  // Whether the result is right, to within its limits, but for the shares that `is_free(t, s)`; in proportion: but for a factor of each
  // row, too.
  using Pairs = std::function<bool(std::int64_t t, std::int64_t s)>;
  bool is_right_but_for(const Pairs& is_free, const Part& result, bool in_proportion) const;

  std::int64_t queries() const { return T_q_; }
  std::int64_t keys() const { return v_.T; }
  double rounding() const { return rounding_; }

 private:
  struct Heads;  // of Eigen's, which only the source sees
  Operand v_;
  std::int64_t T_q_, H_q_;
  double rounding_;
  std::vector<Heads> solvers_;
};

// Shares that some of a result's may equal, and what they are called: "with the decay forgotten".
using KnownShares = std::pair<std::string, std::function<std::optional<Shares>()>>;

// The words for the shares that are wrong in `result`; "" where they are all wrong or none is, where there are none to be had, or where
// the result is wrong in something else, too: all else must be within its limits. Where
// each row of o is divided by what its shares add up to, one that is wrong changes all: then their proportions are compared. `query` and
// `key` are what the two axes are called: "step", "step" or "query", "key".
std::string explain_shares(const ShareSolver& solver, const Part& result,
                           const std::vector<KnownShares>& known, const std::string& query,
                           const std::string& key);

// The words for the key rows that count for something else than once; "" where no counts give the result, to within its limits.
std::string explain_rows(const Part& result, const std::vector<PartOfRows>& parts, double scale);

}  // namespace ladder
