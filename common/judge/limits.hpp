// How large the error of a right result may be: counted, for a class of results (operator, output, storage, declared arithmetic), and
// not taken from any kernel.
//
// An element is a sum of products. What is rounded on its way leaves an error relative to what was rounded:
//
//   the result, once, when it is stored in 16 bits         u |value|                u: the unit roundoff of that type
//   the same, where fp16 holds it as a subnormal number    2^-25                    half the distance between two of them
//   the operands of products, each of a term's own         u sqrt(n) terms          n: operands of a term that are rounded
//   the sums, which are fp32                               2^-24 sqrt(n) max(|value|, terms)
//
// `value` is the float64 truth and `terms` the root of the sum of the squared terms of the element (wkv_terms and its like), so
// that a sum which cancels is judged by what it is made of. n roundings that know nothing of each other leave sqrt(n), not n, units:
// Higham, Mary: A New Approach to Probabilistic Rounding Error Analysis, SIAM J. Sci. Comput. 41 (2019), A2815-A2835. Roundings that
// repeat do know each other, and are counted as they are: exp of the same decay in every step, and sums of equal terms.
//
// They are independent: the limit of an element is the root of the sum of their squares, and that of a tensor or a row is the
// root of the sum of its elements' squares. The worst of R rows, or of R elements, may have sqrt(1 + 2 ln R) as much, for the largest
// of R normal errors is about sqrt(2 ln R) of their standard deviation (Cramer: Mathematical Methods of Statistics, 28.6), however
// short the rows are.
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
  double stored = 0;    // of |value|
  double operands = 0;  // of terms
  double sums = 0;      // of max(|value|, terms)
  double least = 0;     // of 1: what storing leaves however small the value is
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

// Errors and their limits, by their norms: of the whole tensor against |truth| (against the terms where the truth is 0), of the row that
// is nearest to its limit against max(|truth|, terms). The shares are of limits, so they do not depend on that choice.
struct Judged {
  RelativeError error;
  RelativeError limit;
  std::int64_t element = -1;
  std::vector<std::int64_t> bad;  // elements above their limits, or not finite
  double whole_share = 0, row_share = 0, element_share = 0;  // of the limit

  double share() const;  // the largest
  bool within_limit() const;
};

Judged judge_errors(const std::vector<float>& result, const std::vector<double>& truth,
                    const std::vector<double>& terms, std::int64_t row, const Roundings& roundings);

}  // namespace ladder
