// What the judge's parts share: the verdict on one array, and comparisons with the results of misconceptions.
#pragma once

#include <functional>
#include <initializer_list>
#include <string>
#include <vector>

#include "common/reference/judge.hpp"

namespace ladder::reference {

// Names the axes of an array's elements: {"b", "t", "h", "i"}.
struct Layout {
  std::string array;
  std::vector<std::string> axes;
  std::vector<std::int64_t> sizes;

  std::int64_t row() const { return sizes.back(); }
  std::vector<std::int64_t> index(std::int64_t element) const;
  std::string position(std::int64_t element) const;  // "o(b=0, t=1, h=2, i=0)"
};

double limit(double yardstick);

// The error of a result against the truth, and how many elements belong to one of its rows.
struct Measure {
  std::int64_t row;
  std::function<RelativeError(const std::vector<float>&, const std::vector<double>&)> error;
};

// The outcome for one array, by rows of the last axis or as `measure` says. `explain` is asked for the misconception only when
// the array is wrong.
Verdict judge_array(const Layout& layout, const std::vector<float>& result,
                    const std::vector<double>& truth, const std::vector<float>& yardstick,
                    const std::function<std::string()>& explain);
Verdict judge_array(const Layout& layout, const std::vector<float>& result,
                    const std::vector<double>& truth, const std::vector<float>& yardstick,
                    const std::function<std::string()>& explain, const Measure& measure);

// Of a value, at most.
inline constexpr double kBf16Rounding = 1.0 / 256;

// `rounding`: of what the result is stored in.
bool roughly_equal(const std::vector<float>& result, const std::vector<double>& other,
                   std::int64_t row, double rounding = 0);

// "16 or 32": the usual chunk lengths for which `explains(chunk)` holds.
std::string fitting_chunks(const std::function<bool(std::int64_t)>& explains,
                           std::initializer_list<std::int64_t> usual = {16, 32, 64, 128});

}  // namespace ladder::reference
