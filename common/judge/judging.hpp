// What the judge's parts share: the verdict on one array, and comparisons with the results of misconceptions.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "common/core/verdict.hpp"
#include "common/judge/limits.hpp"

namespace ladder::reference {

using ladder::Verdict;

// Names the axes of an array's elements: {"b", "t", "h", "i"}.
struct Layout {
  std::string array;
  std::vector<std::string> axes;
  std::vector<std::int64_t> sizes;
  // What the axes are called in a sentence: {"batch", "step", "head", "column"}. Empty: by their names.
  std::vector<std::string> words = {};

  std::int64_t row() const { return sizes.back(); }
  std::vector<std::int64_t> index(std::int64_t element) const;
  std::string position(std::int64_t element) const;  // "o(b=0, t=1, h=2, i=0)"
  std::string place(std::int64_t element) const;     // "batch 0, step 1, head 2, column 0"
  // "step 3", "steps 3 to 7"; "n=3", "n=3 to 7" where an axis has no word
  std::string range(std::size_t axis, std::int64_t first, std::int64_t last) const;
};

// One array. It points at the results and at what is expected of them.
struct Part {
  Layout layout;
  const std::vector<float>* result;
  const std::vector<double>*truth, *terms;
  Roundings roundings;

  Judged judged() const { return judge_errors(*result, *truth, *terms, layout.row(), roundings); }
};

// The verdict on one array. Only where it is wrong, `explain` is asked for the misconception.
Verdict judge_part(const Part& part, const std::function<std::string()>& explain);

// Adds the error of the array that the verdict is about, in the results of a plain loop.
void add_plain_loop(Verdict& verdict, const std::vector<Part>& of_plain_loop);

// A map of what is wrong, '.' right and 'x' wrong: the two axes that tell most, with what is alike drawn once. Empty where all is wrong, or
// where nothing can be told.
std::string picture(const Layout& layout, const std::vector<std::int64_t>& bad);

// Of a value, at most.
inline constexpr double kBf16Rounding = 1.0 / 256;

// `rounding`: of what the result is stored in. Where `other` is not finite, the result must be 0 or not finite either: it was not
// written, or it overflowed.
bool roughly_equal(std::vector<float> result, std::vector<double> other, std::int64_t row,
                   double rounding = 0);

// A number as a reader can compare it: three digits.
std::string short_number(double x);

// "Each element is 2 times what it should be", where one factor explains all of them; "" otherwise.
std::string constant_factor(const Part& part, double rounding);

}  // namespace ladder::reference
