// Softmax attention as it is computed wrongly: one loop with switches, and their changes (common/operators/variants.hpp).
#pragma once

#include <cmath>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "common/operators/attention/reference.hpp"
#include "common/operators/variants.hpp"

namespace ladder::reference {

enum class Mask {
  kOwn,
  kTurned,
  kFirstWithFirst,
  kWithoutLast,
  kStrict,
  kOneMore,
  kFromBehind,
  kWithoutFirst,
  kOfWarp  // of the row among a warp's 16, in blocks of 64 queries
};

struct WrongMask {
  std::string words, line;
  Mask mask;
};
// Those that a case can show.
std::vector<WrongMask> wrong_masks(const AttentionCase& c);
// The keys that query l of a sequence sees: from .first to .second - 1.
std::pair<std::int64_t, std::int64_t> keys_seen(const AttentionProblem& problem,
                                                const AttentionProblem::Sequence& sequence,
                                                std::int64_t l, Mask mask);

// As they stand here: right.
struct AttentionSwitches {
  Mask mask = Mask::kOwn;
  enum class KeyHead { kOwn, kFirst, kInterleaved } key_head = KeyHead::kOwn;
  enum class Array { kK, kV } k_from = Array::kK, v_from = Array::kV;
  Taken q, k, v;
  double (*scale)(double scale) = [](double scale) { return scale; };
  double (*weight)(double score, double largest) = [](double score, double largest) {
    return std::exp(score - largest);
  };
  enum class Divisor { kSum, kNone, kTwice, kCount, kSumOfAll } divisor = Divisor::kSum;
  double (*lse)(double largest, double log_sum) = [](double m, double l) { return m + l; };
  double factor = 1;
  std::function<bool(std::int64_t)> arrives;  // of the channels, in a score; empty: all
  Stored stored = Stored::kOwn;
  // Of a kernel that takes keys a tile at a time: what counts behind the last key, up to a whole tile, and the parts of so many keys that
  // are put together by exp, though their maxima are in base 2.
  enum class Behind { kNothing, kZeros, kLastKey } behind = Behind::kNothing;
  std::int64_t tile = 1, parts_by_exp = 0;
};

AttentionResult attention_loop(const AttentionProblem& problem, const AttentionSwitches& s,
                               Look look = Look::kThorough);

// Those that a case can show.
Variants<AttentionSwitches> attention_variants(const AttentionCase& c);

}  // namespace ladder::reference
