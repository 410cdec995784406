// The largest error that a right result may have. It is counted for a class of results (operator,
// output, storage, declared arithmetic), and not taken from any kernel.
//
// An element is a sum of products. Each rounding leaves an error relative to the rounded number:
//
//   the stored result, in 16 bits       u |value|          u: the type's unit roundoff
//   the same, if subnormal in fp16      2^-25              half the distance between two of them
//   operands of the products            u sqrt(n) terms    n: rounded operands per term
//   the same, if subnormal in fp16      2^-25 of the other operands, for a state, stored in fp32
//   fp32 accumulation                   2^-24 sqrt(n) max(|value|, terms)
//
// `value` is the float64 truth and `terms` the root of the sum of the element's squared terms
// (`Of::kSquaredTerms`), so that a sum which cancels is judged by its terms. n independent
// roundings leave sqrt(n), not n, units (Higham, Mary: A New Approach to Probabilistic Rounding
// Error Analysis, SIAM J. Sci. Comput. 41 (2019), A2815-A2835). Repeated roundings are not
// independent and are counted fully, like exp of the same decay in every step, and sums of equal
// terms.
//
// Storing is the last step, with a known error of at most half the distance between two numbers.
// Therefore a result is judged by the smallest error that it had before it was stored, which only
// the other three can cause. In fp32 arithmetic no element is off by more than half a unit in its
// last place. Reports show whole errors, next to limits with all four.
//
// The errors are independent. An element's limit is the root of the sum of their squares, and a
// row's or tensor's limit is the root of the sum of its elements' squares. The worst of R rows or
// elements may have sqrt(1 + 2 ln R) times as much, because the largest of R normal errors is about
// sqrt(2 ln R) standard deviations (Cramer: Mathematical Methods of Statistics, 28.6), however
// short the rows are.
//
// Norms miss a small error that all elements share. Results that are all 0.1 % too large are each
// within u = 2^-8 of bf16. The slope shows it. It is <result, truth> / <truth, truth>, the factor
// that brings the truth nearest to the result, which should be 1. It is judged for the whole tensor
// and for each batch, step and head, because one head that is 0.3 % too large hardly changes the
// slope of three. Independent roundings cancel in the slope. The rest has the standard deviation
//
//   stored results      u / sqrt(3) / sqrt(n)         n = (sum of value^2)^2 / (sum of value^4),
//                                                     the effective number of elements
//   rounded operands    u sqrt(n per term) / sqrt(3)  times the root of the sum over the rows of
//                                                     (|row of terms| |row of the truth|)^2, over
//                                                     the truth's square: a row may share them
//
// because a rounding is anywhere between -u and u. A sum of them exceeds kTail standard deviations
// once in a million (Hoeffding: Probability Inequalities for Sums of Bounded Random Variables, J.
// Am. Stat. Assoc. 58 (1963), 13-30). A longer tail gives once in a million for all slopes of a
// tensor together. The second line assumes that one operand is shared by all elements of a row,
// which is rare. The spread of the rows' slopes is a better estimate: a sum of independent errors x
// exceeds kTail sqrt(sum of x^2) once in a million, whatever their sizes (Efron: Student's t-Test
// under Symmetry Conditions, J. Am. Stat. Assoc. 64 (1969), 1278-1302). About their mean that is
// kTail / sqrt(1 - kTail^2 / n) of the spread of n rows, for more than 29 rows. The smaller of the
// two is the limit. The estimate has a factor for operands that several rows share, and is not used
// if rows are computed from each other. Equal rows count as one. Roundings of sums may be
// dependent, and so may those of equal values, so each value is stored as if its sums were off by
// kTail of theirs, all upwards or all downwards.
//
// A row without a wrong element may still lean as a whole, by two units in the last place of each
// element. Its errors are independent except for shared operands. Along the truth, and along a row
// of ones, their sum has the standard deviation
//
//   u sqrt(n per term) / sqrt(3) |row of terms| |direction| sqrt(share)
//
// where `share` belongs to the operand that the row has most of. Along the truth it is the
// correlation of the squares of truth and terms, 1 if the row is one term and near 0 if it is many.
// Along ones it is the squared cosine of the row, or of rows on average.
#pragma once

#include <cstdint>
#include <vector>

#include "common/core/bfloat16.hpp"
#include "common/core/error_metrics.hpp"
#include "common/core/float16.hpp"
#include "common/core/precision.hpp"

namespace ladder {

// Half the distance from 1 to the next number.
template <typename Element>
inline constexpr double kUnitRoundoff = 0;
template <>
inline constexpr double kUnitRoundoff<float> = 0x1p-24;
template <>
inline constexpr double kUnitRoundoff<bfloat16> = 0x1p-8;
template <>
inline constexpr double kUnitRoundoff<float16> = 0x1p-11;

// Half the distance between the type's smallest numbers. For bfloat16 no result comes near it.
template <typename Element>
inline constexpr double kLeastRoundoff = 0;
template <>
inline constexpr double kLeastRoundoff<float16> = 0x1p-25;

// All accumulation is in fp32.
inline constexpr double kFp32Roundoff = kUnitRoundoff<float>;

// Roundings of every sum: the first and last products, the scale, and an fp32 operand split into
// two of TF32. The split leaves 2^-22 of it, which is 4 units, as much as 16 roundings.
inline constexpr double kFewRoundings = 16;

// Relative to the numbers named.
struct Roundings {
  double stored = 0;        // of |value|
  double operands = 0;      // of terms
  double sums = 0;          // of max(|value|, terms)
  double least = 0;         // of 1, the error of fp16 for any small value
  bool rows_share = false;  // rows are computed from earlier rows, with their roundings
};

// The roundings of a result stored as Element.
template <typename Element>
Roundings stored_as() {
  return {.stored = kUnitRoundoff<Element>, .least = kLeastRoundoff<Element>};
}

// The same by name.
double unit_roundoff(Precision precision);
Roundings stored_in(Precision precision);

// The limits of rows and elements are at least this fraction of the tensor's RMS. Smaller numbers
// may be outside the range of the type in which they are computed.
inline constexpr double kSmallest = 1e-3;

// In standard deviations. Independent roundings exceed it once in a million, sqrt(2 ln(2 10^6)).
inline constexpr double kTail = 5.39;

// How much larger than independent errors the rows' sum may be, as rows of a chunk share operands.
inline constexpr double kShared = 1.5;

// Rows that differ by fewer roundings than this have the same operands and share their rounding.
inline constexpr double kAlike = 8;

// Errors and limits as norms: the tensor's relative to |truth| (to the terms if the truth is 0),
// and the worst row's relative to max(|truth|, terms). Shares do not depend on that choice.
struct Judged {
  RelativeError error;
  RelativeError limit;
  std::int64_t element = -1;
  std::vector<std::int64_t> bad;  // elements above their limits, or not finite
  // The slope nearest to its limit, of the whole (axis -1) or one head, step or column.
  double slope = 1, slope_least = 1, slope_most = 1;
  std::int64_t slope_axis = -1, slope_index = 0;
  std::int64_t leaning_row = -1;  // the row whose errors lean most
  double whole_share = 0, row_share = 0, element_share = 0, slope_share = 0,
         leaning_share = 0;  // of the limit

  double share() const;  // the largest
  bool within_limit() const;
};

// Rounds a value to its storage.
using StoredValue = float (*)(double value);

// `sizes` are the lengths of the tensor's axes, and a row is the last axis.
Judged judge_errors(const std::vector<float>& result, const std::vector<double>& truth,
                    const std::vector<double>& terms, const std::vector<std::int64_t>& sizes,
                    const Roundings& roundings, StoredValue stored);

}  // namespace ladder
