// Softmax attention and its gradients as they are computed wrongly: one loop of each with switches, and their changes
// (common/judge/variants.hpp).
#pragma once

#include <cstdint>
#include <vector>

#include "common/judge/variants.hpp"
#include "common/operators/attention/truth.hpp"
#include "common/operators/attention/visible.hpp"

namespace ladder {

// Which keys a query sees.
enum class Mask {
  kOwn,
  kTurned,
  kFirstWithFirst,
  kWithoutLast,
  kStrict,
  kOneMore,
  kFromBehind,
  kWithoutFirst,
  kOfWarp,  // of the row among a warp's 16, in blocks of 64 queries
  kNoWindow,
  kNarrower,  // the window, by one key
  kWider
};

enum class KeyHead { kOwn, kInterleaved };

// As they stand here: right. Functions are in the place of the formula's own.
struct AttentionSwitches {
  Mask mask = Mask::kOwn;
  KeyHead key_head = KeyHead::kOwn;
  enum class Array { kK, kV } k_from = Array::kK, v_from = Array::kV;
  bool v_rows_as_wide_as_k = false;
  double (*scale)(double scale) = nullptr;
  bool capped = true;  // where there is a softcap
  double (*weight)(double score, double largest) = nullptr;
  enum class Divisor { kSum, kNone, kTwice, kCount } divisor = Divisor::kSum;
  double (*lse)(double largest, double log_sum) = nullptr;
  Precision operands =
      Precision::kFp32;  // the weights are rounded to it before they are multiplied
  // Keys are taken so many at a time, with a running maximum, sum and o (the "online softmax"); 0: all at once.
  std::int64_t tile = 0;
  bool last_first = false;                      // the last tile first
  bool maximum_carried = true;                  // or each tile has its own
  bool o_rescaled = true, sum_rescaled = true;  // when the maximum grows
  bool whole_tiles_only = false;                // keys of a last partial tile are lost
  bool whole_first_tiles =
      false;  // those of a first one, where the window of the first query begins
  // Keys that a query does not see count in its sum, where its tile of so many queries visits them. 0: none of them counts.
  std::int64_t query_tile = 0;
  // What counts behind the last key, up to a whole tile.
  enum class Behind { kNothing, kZeros, kLastKey } behind = Behind::kNothing;
  std::int64_t parts_by_exp =
      0;  // parts of so many keys, with maxima in base 2, are put together by exp
  // Tiles of one array that hold the rows of the tile before: those of all but the first, or every second one.
  enum class Stale { kNone, kAll, kEverySecond } stale = Stale::kNone;
  Array stale_array = Array::kK;
};

// With float and no change it is what somebody gets who writes down the formula.
template <typename Number = double>
BasicAttentionResult<Number> attention_loop(const AttentionArgs& a, const AttentionSwitches& s);

// As they stand here: right.
struct AttentionGradSwitches {
  Mask mask = Mask::kOwn;
  KeyHead key_head = KeyHead::kOwn;
  double delta = 1;  // times the sum of d_o o
  bool scale_in_scores = true, scale_in_dq = true, scale_in_dk = true;
  bool capped = true, slope_in_ds = true;  // where there is a softcap: the scores, their derivative
  double (*weight)(double score, double lse) = nullptr;
  bool weights_in_ds = true, weights_in_dv = true;
  bool d_o_in_dv = true;  // or v
  enum class Group {
    kAll,
    kFirst,
    kLast
  } heads = Group::kAll;        // whose gradients dk and dv are summed over
  std::int64_t query_tile = 1;  // queries of a last partial tile of so many are lost
  Precision operands = Precision::kFp32;
};

// With somebody's o and lse.
template <typename Number>
BasicAttentionGradients<Number> attention_gradient_loop(const AttentionGradArgs& a,
                                                        const BasicAttentionResult<Number>& forward,
                                                        const AttentionGradSwitches& s);

// Those that a case can show.
Variants<AttentionSwitches> attention_variants(const AttentionCase& c);
Variants<AttentionGradSwitches> attention_gradient_variants(const AttentionCase& c);

}  // namespace ladder
