// The verdict on one array: written, finite, within the limits of its class; where it is wrong, which elements are.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "common/core/verdict.hpp"
#include "common/judge/limits.hpp"

namespace ladder {

// Names the axes of an array's elements: {"b", "t", "h", "i"}.
struct Layout {
  std::string array;
  std::vector<std::string> axes;
  std::vector<std::int64_t> sizes;
  // What the axes are called in a sentence: {"batch", "step", "head", "column"}. Empty: by their names.
  std::vector<std::string> words = {};

  std::int64_t row() const { return sizes.back(); }
  std::int64_t along(std::size_t axis, std::int64_t element) const;
  std::vector<std::int64_t> index(std::int64_t element) const;
  std::string position(std::int64_t element) const;  // "o(b=0, t=1, h=2, i=0)"
  std::string place(std::int64_t element) const;     // "batch 0, step 1, head 2, column 0"
  // "step 3", "steps 3 to 7"; "n=3", "n=3 to 7" where an axis has no word
  std::string range(std::size_t axis, std::int64_t first, std::int64_t last) const;
};

// Elements that must be what the truth is, exactly, and the rule that says so: "a query that sees no key must have o = 0".
struct Exact {
  std::vector<bool> elements = {};
  std::string rule = {};
};

// An output's true values, and for each the root of the sum of its squared terms. Without terms a value is its only one.
struct Truth {
  std::vector<double> values, terms = {};
  std::optional<Roundings> roundings =
      {};  // otherwise they are counted from the operator's additions
  Exact exact = {};
};

// One array. It points at the results and at what is expected of them. Where the truth is infinite, `exact` has the element.
struct Part {
  Layout layout;
  const std::vector<float>* result;
  const std::vector<double>*truth, *terms;
  Roundings roundings;
  const Exact* exact = nullptr;
  StoredValue stored = [](double value) { return static_cast<float>(value); };

  Judged judged() const;
  // How coarse a right result may be, where it is compared with another answer: 0, or kBf16Rounding.
  double coarseness() const;
  // Whether the result equals a wrong answer, as nearly as its storage lets it. What nearly equals the truth is no wrong answer.
  bool equals(const std::vector<double>& wrong) const;
};

Verdict judge_part(const Part& part);

// Refuses (std::invalid_argument) a problem whose right result is beyond the type that it is stored in: no kernel can have it.
void require_storable(const Part& part);

// A part without the elements that are exactly right: they are 0, in the result and in what is expected. An infinite number is none to
// compare.
class FinitePart {
 public:
  explicit FinitePart(const Part& part);
  const Part& part() const { return part_; }
  FinitePart(const FinitePart&) = delete;
  FinitePart& operator=(const FinitePart&) = delete;

 private:
  std::vector<float> result_;
  std::vector<double> truth_, terms_;
  Part part_;
};

// Adds the error of the array that the verdict is about, in the results of a plain loop.
void add_plain_loop(Verdict& verdict, const std::vector<Part>& of_plain_loop);

// A map of what is wrong, '.' right and 'x' wrong: the two axes that tell most, with what is alike drawn once. Empty where all is wrong, or
// where nothing can be told.
std::string picture(const Layout& layout, const std::vector<std::int64_t>& bad);

// Whether a result is `values` in the place of the truth, to within the limits that it then has. What is added to the truth is another
// term of each element; it was fitted to the result, so it brings roundings of a row's elements to the others.
bool is_within_limits_of(const std::vector<double>& values, const Part& result);

// Rounding a number to bf16 changes it by at most this share of it.
inline constexpr double kBf16Rounding = 1.0 / 256;

// Whether a result equals another answer, whose storage rounds by `rounding`. Where `other` is not finite, the result must be 0 or not
// finite either: it was not written, or it overflowed.
bool roughly_equal(std::vector<float> result, std::vector<double> other, std::int64_t row,
                   double rounding = 0);

// A number as a reader can compare it.
std::string short_number(double x, int digits = 3);
// "yours 1.02, right 1", with as many digits as tell the two apart.
std::string yours_and_right(double yours, double right);

}  // namespace ladder
