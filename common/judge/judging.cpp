#include "common/judge/judging.hpp"

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

namespace {

// Which elements are bad, as a reader can use it: the first one, and whether they fill an axis or only its tail.
std::string where(const Layout& layout, const std::vector<float>& result,
                  const std::vector<double>& truth, const std::vector<std::int64_t>& bad) {
  const auto unwritten =
      std::count_if(result.begin(), result.end(), [](float x) { return std::isnan(x); });
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

Verdict judge_part(const Part& part, const std::function<std::string()>& explain) {
  const Layout& layout = part.layout;
  const std::vector<float>& result = *part.result;
  const std::vector<double>& truth = *part.truth;
  Verdict verdict;
  verdict.array = layout.array;
  if (result.size() != truth.size()) {
    verdict.message = "WRONG RESULT: " + layout.array + " has " + std::to_string(result.size()) +
                      " elements, should have " + std::to_string(truth.size());
    return verdict;
  }
  verdict.right = true;
  if (truth.empty()) return verdict;
  const Judged judged = part.judged();
  verdict.error = judged.error;
  verdict.limit = judged.limit;
  verdict.share = judged.share();
  if (judged.within_limit()) return verdict;
  verdict.right = false;
  std::ostringstream text;
  text << "WRONG RESULT in " << layout.array << "\n";
  if (judged.error.finite) {
    text << "relative error " << judged.error.whole << " (limit " << judged.limit.whole
         << "), worst row " << judged.error.worst_row << " (limit " << judged.limit.worst_row
         << ") at " << layout.position(judged.error.worst_row_index * layout.row())
         << ", worst element at " << judged.element_share
         << " of its limit: " << layout.position(judged.element) << "\n";
  }
  text << where(layout, result, truth, judged.bad);
  // Zeros equal many a misconception on some case; none of them is what happened.
  const bool zeros = std::all_of(result.begin(), result.end(), [](float x) { return x == 0; });
  text << (zeros ? "every element is zero\n" : explain());
  verdict.message = text.str();
  return verdict;
}

void add_plain_loop(Verdict& verdict, const std::vector<Part>& of_plain_loop) {
  for (const Part& part : of_plain_loop) {
    if (part.layout.array == verdict.array) verdict.plain_loop = part.judged().error;
  }
}

bool roughly_equal(std::vector<float> result, std::vector<double> other, std::int64_t row,
                   double rounding) {
  if (result.size() != other.size()) return false;
  bool any = false;
  for (std::size_t i = 0; i < result.size(); ++i) {
    if (std::isfinite(other[i])) {
      any = true;
      continue;
    }
    if (std::isfinite(result[i]) && result[i] != 0) return false;
    result[i] = 0;
    other[i] = 0;
  }
  const RelativeError error = relative_error(result, other, row);
  return any && error.finite && error.whole < 1e-4 + rounding;
}

}  // namespace ladder::reference
