// The softmax of a row in parts. Three numbers represent all scores seen so far.
//
//   scores s_c, values v_c:   m = max s_c    l = sum exp(s_c - m)    sum = sum exp(s_c - m) v_c
//
// Then sum / l is the softmax-weighted mean of the values, and m + log(l) the log-sum-exp of the
// scores. With D values per key, as in attention, there are D sums, but one m and one l.
// Source: Milakov, Gimelshein, "Online normalizer calculation for softmax" (2018).
#pragma once

#include <limits>

namespace flash_attention::online_softmax {

// Scores may be -inf (a masked key), not +inf.
template <typename Number>
struct Row {
  Number m = -std::numeric_limits<Number>::infinity();  // if there is no key
  Number l = 0;
  Number sum = 0;

  Number mean() const;         // 0 if there is no key, or only masked ones
  Number log_sum_exp() const;  // -inf in that case
};

template <typename Number>
struct Key {
  Number score, value;
};

// The row with one more key. Only m is new. Sums relative to the old m are rescaled to the new one.
template <typename Number>
Row<Number> with_key(const Row<Number>& row, const Key<Number>& key);

// The row of all keys of two rows, by the same rule, for parts of any size.
template <typename Number>
Row<Number> merged(const Row<Number>& a, const Row<Number>& b);

}  // namespace flash_attention::online_softmax
