// Wrong computations of softmax attention and its gradients: a loop for each with switches, and
// variants that change them (common/judge/variants.hpp).
#pragma once

#include <cstdint>
#include <vector>

#include "common/judge/variants.hpp"
#include "common/operators/attention/truth.hpp"
#include "common/operators/attention/visible.hpp"

namespace ladder {

enum class Mask {
  kOwn,
  kTurned,
  kFirstWithFirst,
  kWithoutLast,
  kStrict,
  kOneMore,
  kFromBehind,
  kWithoutFirst,
  kOfWarp,  // the mask of row l % 16 in a block of 64 queries
  kNoWindow,
  kNarrower,  // a window of one key less
  kWider
};

enum class KeyHead { kOwn, kInterleaved };

// The defaults are right. A function that is set replaces the formula's own.
struct AttentionSwitches {
  Mask mask = Mask::kOwn;
  KeyHead key_head = KeyHead::kOwn;
  enum class Array { kK, kV } k_from = Array::kK, v_from = Array::kV;
  bool v_rows_as_wide_as_k = false;
  double (*scale)(double scale) = nullptr;
  bool capped = true;  // if there is a softcap
  double (*weight)(double score, double largest) = nullptr;
  enum class Divisor { kSum, kNone, kTwice, kCount } divisor = Divisor::kSum;
  double (*lse)(double largest, double log_sum) = nullptr;
  Precision operands = Precision::kFp32;  // weights are rounded to it before they multiply v
  // Keys per step of the online softmax, with a running maximum, sum and o, or 0 for no tiles.
  std::int64_t tile = 0;
  bool last_first = false;                      // the last tile first
  bool maximum_carried = true;                  // else each tile has its own
  bool o_rescaled = true, sum_rescaled = true;  // when the maximum grows
  bool whole_tiles_only = false;                // skips a last partial tile
  bool whole_first_tiles = false;  // skips the partial tile where the first query's window begins
  // Queries per tile. Hidden keys that the tile visits count in a query's sum. With 0 none counts.
  std::int64_t query_tile = 0;
  // Padding of the last tile that counts as keys.
  enum class Behind { kNothing, kZeros, kLastKey } behind = Behind::kNothing;
  std::int64_t parts_by_exp = 0;  // keys per part, combined with exp though maxima are in base 2
  // Tiles of one array that still hold the previous tile, either all but the first or every second.
  enum class Stale { kNone, kAll, kEverySecond } stale = Stale::kNone;
  Array stale_array = Array::kK;
};

// In float with the defaults it is a plain implementation of the formula.
template <typename Number = double>
BasicAttentionResult<Number> attention_loop(const AttentionArgs& a, const AttentionSwitches& s);

// The defaults are right.
struct AttentionGradSwitches {
  Mask mask = Mask::kOwn;
  KeyHead key_head = KeyHead::kOwn;
  double delta = 1;  // factor of the sum of d_o o
  bool scale_in_scores = true, scale_in_dq = true, scale_in_dk = true;
  bool capped = true, slope_in_ds = true;  // softcap: in the scores, and its derivative
  double (*weight)(double score, double lse) = nullptr;
  bool weights_in_ds = true, weights_in_dv = true;
  bool d_o_in_dv = true;                                         // else v
  enum class Group { kAll, kFirst, kLast } heads = Group::kAll;  // summed into dk and dv
  std::int64_t query_tile = 1;  // queries per tile, without a last partial one
  Precision operands = Precision::kFp32;
};

// Uses the o and lse of `forward`.
template <typename Number>
BasicAttentionGradients<Number> attention_gradient_loop(const AttentionGradArgs& a,
                                                        const BasicAttentionResult<Number>& forward,
                                                        const AttentionGradSwitches& s);

// The variants that a case can reveal.
Variants<AttentionSwitches> attention_variants(const AttentionCase& c);
Variants<AttentionGradSwitches> attention_gradient_variants(const AttentionCase& c);

}  // namespace ladder
