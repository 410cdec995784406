// The verdict on one array: written, finite, within its limits, or which elements are not.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "common/core/verdict.hpp"
#include "common/judge/limits.hpp"

namespace ladder {

// Names the axes of an array's elements, as {"b", "t", "h", "i"}.
struct Layout {
  std::string array;
  std::vector<std::string> axes;
  std::vector<std::int64_t> sizes;
  // The axes in a sentence, as {"batch", "step", "head", "column"}, or `axes` if empty.
  std::vector<std::string> words = {};

  std::int64_t row() const { return sizes.back(); }
  std::int64_t along(std::size_t axis, std::int64_t element) const;
  std::vector<std::int64_t> index(std::int64_t element) const;
  std::string position(std::int64_t element) const;  // "o(b=0, t=1, h=2, i=0)"
  std::string place(std::int64_t element) const;     // "batch 0, step 1, head 2, column 0"
  // "step 3", "steps 3 to 7", or "n=3", "n=3 to 7" for an axis without a word
  std::string range(std::size_t axis, std::int64_t first, std::int64_t last) const;
};

// Elements that must equal the truth, and why: "a query that sees no key must have o = 0".
struct Exact {
  std::vector<bool> elements = {};
  std::string rule = {};
};

// True values, and the root of the sum of each one's squared terms. Without `terms`, the value.
struct Truth {
  std::vector<double> values, terms = {};
  std::optional<Roundings> roundings = {};  // otherwise counted from the additions
  Exact exact = {};
};

// One array, by pointers. Where the truth is infinite, `exact` has the element.
struct Part {
  Layout layout;
  const std::vector<float>* result;
  const std::vector<double>*truth, *terms;
  Roundings roundings;
  const Exact* exact = nullptr;
  StoredValue stored = [](double value) { return static_cast<float>(value); };

  Judged judged() const;
  // The rounding to allow for when the result is compared with another answer, 0 or kBf16Rounding.
  double coarseness() const;
  // Whether the result equals a wrong answer, up to rounding. Near the truth none counts as wrong.
  bool equals(const std::vector<double>& wrong) const;
};

Verdict judge_part(const Part& part);

// Throws std::invalid_argument if the right result exceeds the range of its storage type.
void require_storable(const Part& part);

// A part whose exactly right elements (infinite ones cannot be compared) are 0, also in the truth.
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

// Adds the plain loop's error for the array that the verdict is about.
void add_plain_loop(Verdict& verdict, const std::vector<Part>& of_plain_loop);

// A map of right '.' and wrong 'x' elements along the two most telling axes, with equal lines drawn
// once. Empty if everything is wrong or the map shows nothing.
std::string picture(const Layout& layout, const std::vector<std::int64_t>& bad);

// Whether a result is within the limits if `values` replace the truth. Their difference counts as
// another term. It was fitted to the result, so roundings of a row's elements affect the others.
bool is_within_limits_of(const std::vector<double>& values, const Part& result);

// The largest relative change by rounding to bf16.
inline constexpr double kBf16Rounding = 1.0 / 256;

// Whether a result equals another answer, whose storage rounds by `rounding`. Where `other` is not
// finite, the result must be 0 (not written) or not finite (overflow).
bool roughly_equal(std::vector<float> result, std::vector<double> other, std::int64_t row,
                   double rounding = 0);

// The number with `digits` significant digits.
std::string short_number(double x, int digits = 3);
// "yours 1.02, right 1", with as many digits as distinguish them.
std::string yours_and_right(double yours, double right);

}  // namespace ladder
