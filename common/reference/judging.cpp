#include "common/reference/judging.hpp"

#include <algorithm>
#include <cmath>
#include <sstream>

namespace ladder::reference {

std::vector<std::int64_t> Layout::index(std::int64_t element) const {
  std::vector<std::int64_t> result(sizes.size());
  for (std::size_t axis = sizes.size(); axis-- > 0;) {
    result[axis] = element % sizes[axis];
    element /= sizes[axis];
  }
  return result;
}

std::string Layout::position(std::int64_t element) const {
  std::string text;
  const auto at = index(element);
  for (std::size_t axis = 0; axis < axes.size(); ++axis) {
    text += (axis ? ", " : "") + axes[axis] + "=" + std::to_string(at[axis]);
  }
  return array + "(" + text + ")";
}

double limit(double yardstick) {
  return 2 * yardstick + kFewUlp;
}

namespace {

bool within_limit(const RelativeError& error, const RelativeError& yardstick) {
  return error.finite && !(error.whole > limit(yardstick.whole)) &&
         !(error.worst_row > limit(yardstick.worst_row));
}

// Which elements are bad, as a reader can use it: the first one, and whether they fill an axis or only its tail.
std::string where(const Layout& layout, const std::vector<float>& result,
                  const std::vector<double>& truth, double row_limit) {
  double square = 0;
  for (double value : truth)
    square += value * value;
  const double rms = std::sqrt(square / truth.size());
  std::vector<std::int64_t> bad;
  std::int64_t unwritten = 0;
  for (std::size_t i = 0; i < truth.size(); ++i) {
    unwritten += std::isnan(result[i]);
    const double size = std::max(std::abs(truth[i]), rms);
    if (!(std::abs(result[i] - truth[i]) <= 8 * row_limit * size)) bad.push_back(i);
  }
  std::ostringstream text;
  if (unwritten > 0) {
    text << "some elements were never written, or are NaN: " << unwritten << " of " << truth.size()
         << "\n";
  }
  if (bad.empty()) return text.str();
  text.precision(9);
  text << "first bad element: " << layout.position(bad[0]) << " is " << result[bad[0]]
       << ", should be " << truth[bad[0]] << "; " << bad.size() << " of " << truth.size()
       << " are bad\n";
  for (std::size_t axis = 0; axis < layout.axes.size(); ++axis) {
    std::vector<bool> seen(layout.sizes[axis], false);
    for (std::int64_t element : bad)
      seen[layout.index(element)[axis]] = true;
    const auto first = std::find(seen.begin(), seen.end(), true) - seen.begin();
    const bool to_the_end = std::find(seen.begin() + first, seen.end(), false) == seen.end();
    if (first > 0 && to_the_end) {
      const bool columns = axis + 1 == layout.axes.size() && layout.axes[axis] != "t";
      text << (columns ? "the last columns are wrong: " : "right at first, then wrong: ")
           << layout.axes[axis] << " from " << first << " to " << layout.sizes[axis] - 1 << "\n";
    }
  }
  return text.str();
}

}  // namespace

Verdict judge_array(const Layout& layout, const std::vector<float>& result,
                    const std::vector<double>& truth, const std::vector<float>& yardstick,
                    const std::function<std::string()>& explain) {
  const auto error = [&](const std::vector<float>& values, const std::vector<double>& right) {
    return relative_error(values, right, layout.row());
  };
  return judge_array(layout, result, truth, yardstick, explain, {layout.row(), error});
}

Verdict judge_array(const Layout& layout, const std::vector<float>& result,
                    const std::vector<double>& truth, const std::vector<float>& yardstick,
                    const std::function<std::string()>& explain, const Measure& measure) {
  Verdict verdict;
  if (result.size() != truth.size()) {
    verdict.message = "WRONG RESULT: " + layout.array + " has " + std::to_string(result.size()) +
                      " elements, should have " + std::to_string(truth.size());
    return verdict;
  }
  verdict.right = true;
  if (truth.empty()) return verdict;
  verdict.error = measure.error(result, truth);
  verdict.yardstick = measure.error(yardstick, truth);
  if (within_limit(verdict.error, verdict.yardstick)) return verdict;
  verdict.right = false;
  const double row_limit = limit(verdict.yardstick.worst_row);
  std::ostringstream text;
  text << "WRONG RESULT in " << layout.array << "\n";
  if (verdict.error.finite) {
    text << "relative error " << verdict.error.whole << " (limit " << limit(verdict.yardstick.whole)
         << "), worst row " << verdict.error.worst_row << " (limit " << row_limit << ") at "
         << layout.position(verdict.error.worst_row_index * measure.row) << "\n";
  }
  text << where(layout, result, truth, row_limit);
  // Zeros equal many a misconception on some case; none of them is what happened.
  const bool zeros = std::all_of(result.begin(), result.end(), [](float x) { return x == 0; });
  text << (zeros ? "every element is zero\n" : explain());
  verdict.message = text.str();
  return verdict;
}

bool roughly_equal(const std::vector<float>& result, const std::vector<double>& other,
                   std::int64_t row, double rounding) {
  const RelativeError error = relative_error(result, other, row);
  return error.finite && error.whole < 1e-4 + rounding;
}

std::string fitting_chunks(const std::function<bool(std::int64_t)>& explains,
                           std::initializer_list<std::int64_t> usual) {
  std::string fitting;
  for (const std::int64_t chunk : usual) {
    if (explains(chunk)) fitting += (fitting.empty() ? "" : " or ") + std::to_string(chunk);
  }
  return fitting;
}

}  // namespace ladder::reference
