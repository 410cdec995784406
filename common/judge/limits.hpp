// How large the error of a right result may be: counted, for a class of results (operator, output, storage, declared arithmetic), and
// not taken from any kernel.
//
// An element is a sum of products. What is rounded on its way leaves an error relative to what was rounded:
//
//   the result, once, when it is stored in 16 bits         u |value|                u: the unit roundoff of that type
//   the same, where fp16 holds it as a subnormal number    2^-25                    half the distance between two of them
//   the operands of products, each of a term's own         u sqrt(n) terms          n: operands of a term that are rounded
//   the same, where fp16 holds one as a subnormal number   2^-25 of the others, for a state, which is stored in fp32
//   the sums, which are fp32                               2^-24 sqrt(n) max(|value|, terms)
//
// `value` is the float64 truth and `terms` the root of the sum of the squared terms of the element (`Of::kSquaredTerms`), so
// that a sum which cancels is judged by what it is made of. n roundings that know nothing of each other leave sqrt(n), not n, units:
// Higham, Mary: A New Approach to Probabilistic Rounding Error Analysis, SIAM J. Sci. Comput. 41 (2019), A2815-A2835. Roundings that
// repeat do know each other, and are counted as they are: exp of the same decay in every step, and sums of equal terms.
//
// Storing comes last and its error is known: at most half the distance between two numbers of the type. So a result is judged by the
// error that it had at least before it was stored, which only the other three may have made; where the arithmetic is fp32, no element is
// off by more than half a unit in its last place. Whole errors are shown, and beside them limits with all four.
//
// They are independent: the limit of an element is the root of the sum of their squares, and that of a tensor or a row is the
// root of the sum of its elements' squares. The worst of R rows, or of R elements, may have sqrt(1 + 2 ln R) as much, for the largest
// of R normal errors is about sqrt(2 ln R) of their standard deviation (Cramer: Mathematical Methods of Statistics, 28.6), however
// short the rows are.
//
// Norms do not see a small error that all elements share: results that are all 0.1 % too large are within u = 2^-8 of bf16 each. Their
// slope does: <result, truth> / <truth, truth>, the factor by which the truth comes nearest to the result, 1 where all is right. It is
// judged for the whole tensor and for each batch, step and head, because a head that is 0.3 % too large is hardly seen in the
// slope of three. Roundings that know nothing of each other cancel in it. What is left of them has the standard deviation
//
//   of what is stored      u / sqrt(3) / sqrt(n)           n = (sum of value^2)^2 / (sum of value^4): the effective number of elements
//   of rounded operands    u sqrt(n of a term) / sqrt(3)   times the root of the sum over the rows of (|row of terms| |row of the
//                                                          truth|)^2, over the truth's square: a row's elements may share them
//
// for a rounding lies anywhere between -u and u. A sum of them is kTail standard deviations away once in a million (Hoeffding: Probability
// Inequalities for Sums of Bounded Random Variables, J. Am. Stat. Assoc. 58 (1963), 13-30), and once in a million for all slopes of a
// tensor where the tail is as much longer as there are slopes. The second line takes the elements of a row for shared by one operand, which
// few are. How much the rows' slopes differ says it better: the sum of independent errors x exceeds kTail sqrt(sum of x^2) once in a
// million, whatever their sizes are (Efron: Student's t-Test under Symmetry Conditions, J. Am. Stat. Assoc. 64 (1969), 1278-1302); about
// their mean that is kTail / sqrt(1 - kTail^2 / n) of the spread of n rows, more than 29 of them. The smaller of the two is the limit,
// this one with a factor for operands that
// several rows share, and not where rows are made of each other. Rows that are alike are one. Roundings of sums may know each other, and so do those of equal values: each value is taken as it is stored if its
// sums are off by kTail of theirs, all upwards or all downwards.
//
// A row of which no element is wrong may be off as a whole, by two units in the last place of each. Errors of a row are independent but for
// operands that the row shares. Along the truth, and along a row of ones, their sum has the standard deviation of rounded operands
//
//   u sqrt(n of a term) / sqrt(3) |row of terms| |direction| sqrt(share)
//
// with the share of the one operand that the row has most of. Along the truth that is seen in the correlation of the squares of truth and
// terms: 1 where a row is one term, next to 0 where it is many. Along ones it is the squared cosine of the row, or of rows in the mean.
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

// Half the distance between the smallest numbers of a type. That of bfloat16 is fp32's, which no result here comes near.
template <typename Element>
inline constexpr double kLeastRoundoff = 0;
template <>
inline constexpr double kLeastRoundoff<float16> = 0x1p-25;

// Every sum is made in fp32.
inline constexpr double kFp32Roundoff = kUnitRoundoff<float>;

// Roundings that every sum has: of the first and the last products, of the scale, and of an fp32 operand that tensor cores take as two
// of tf32, 2^-22 of it: 4 units, as 16 roundings are.
inline constexpr double kFewRoundings = 16;

// In units of what each is relative to.
struct Roundings {
  double stored = 0;        // of |value|
  double operands = 0;      // of terms
  double sums = 0;          // of max(|value|, terms)
  double least = 0;         // of 1: what fp16 leaves however small the value is
  bool rows_share = false;  // a row is made of those before it, and has their roundings
};

// What a result stored as Element is rounded by.
template <typename Element>
Roundings stored_as() {
  return {.stored = kUnitRoundoff<Element>, .least = kLeastRoundoff<Element>};
}

// The same by name.
double unit_roundoff(Precision precision);
Roundings stored_in(Precision precision);

// The limits of a row and of an element have this fraction of the tensor's RMS as a floor: numbers that are so much smaller may be
// beyond the range of the type that they are computed in.
inline constexpr double kSmallest = 1e-3;

// In standard deviations: what a sum of independent roundings exceeds once in a million, sqrt(2 ln(2 10^6)).
inline constexpr double kTail = 5.39;

// How much more the errors of rows may add up to than such that know nothing of each other: rows of a chunk share operands.
inline constexpr double kShared = 1.5;

// Rows that differ by less than so many roundings have the same operands, to within them, and share what these are rounded by.
inline constexpr double kAlike = 8;

// Errors and their limits, by their norms: of the whole tensor against |truth| (against the terms where the truth is 0), of the row that
// is nearest to its limit against max(|truth|, terms). The shares are of limits, so they do not depend on that choice.
struct Judged {
  RelativeError error;
  RelativeError limit;
  std::int64_t element = -1;
  std::vector<std::int64_t> bad;  // elements above their limits, or not finite
  // Of what is nearest to its limit: the whole (axis -1), or one head, step or column. And those of right ones.
  double slope = 1, slope_least = 1, slope_most = 1;
  std::int64_t slope_axis = -1, slope_index = 0;
  std::int64_t leaning_row = -1;  // whose errors lean one way more than others'
  double whole_share = 0, row_share = 0, element_share = 0, slope_share = 0,
         leaning_share = 0;  // of the limit

  double share() const;  // the largest
  bool within_limit() const;
};

// What a value becomes where it is stored.
using StoredValue = float (*)(double value);

// `sizes` are those of the tensor's axes; a row is the last one.
Judged judge_errors(const std::vector<float>& result, const std::vector<double>& truth,
                    const std::vector<double>& terms, const std::vector<std::int64_t>& sizes,
                    const Roundings& roundings, StoredValue stored);

}  // namespace ladder
