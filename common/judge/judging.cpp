#include "common/judge/judging.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <utility>

#include "common/core/poison.hpp"

namespace ladder {

std::int64_t Layout::along(std::size_t axis, std::int64_t element) const {
  for (std::size_t inner = axis + 1; inner < sizes.size(); ++inner)
    element /= sizes[inner];
  return element % sizes[axis];
}

std::vector<std::int64_t> Layout::index(std::int64_t element) const {
  std::vector<std::int64_t> result;
  for (std::size_t axis = 0; axis < sizes.size(); ++axis)
    result.push_back(along(axis, element));
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

std::string plural(const std::string& word) {
  if (word.ends_with("ery")) return word.substr(0, word.size() - 1) + "ies";
  return word + (word.ends_with("ch") ? "es" : "s");
}

}  // namespace

std::string Layout::place(std::int64_t element) const {
  std::string text;
  const auto at = index(element);
  for (std::size_t axis = 0; axis < axes.size(); ++axis)
    text += (axis ? ", " : "") + range(axis, at[axis], at[axis]);
  return text;
}

std::string Layout::range(std::size_t axis, std::int64_t first, std::int64_t last) const {
  const bool has_word = !words.empty();
  std::string text = has_word ? words[axis] : axes[axis];
  if (has_word && last > first) text = plural(text);
  text += has_word ? " " : "=";
  text += std::to_string(first);
  return last > first ? text + " to " + std::to_string(last) : text;
}

namespace {

constexpr std::size_t kMostLines = 8;
constexpr std::int64_t kMostWidth = 64;

// Draws one axis down and one across. Equal neighbouring lines are drawn once.
struct Map {
  std::vector<std::pair<std::string, std::string>> lines;  // label, cells
  double right = 0;                                        // the number of cells that are right

  // An array with one axis gives one line.
  Map(const Layout& layout, const std::vector<std::int64_t>& bad, std::size_t down,
      std::size_t across) {
    const bool one = down == across;
    const std::int64_t rows = one ? 1 : layout.sizes[down], columns = layout.sizes[across];
    const std::int64_t each = (columns + kMostWidth - 1) / kMostWidth,
                       cells = (columns + each - 1) / each;
    std::vector<std::string> drawn(rows, std::string(cells, '.'));
    for (const std::int64_t element : bad)
      drawn[one ? 0 : layout.along(down, element)][layout.along(across, element) / each] = 'x';
    for (std::int64_t first = 0, next; first < rows; first = next) {
      for (next = first + 1; next < rows && drawn[next] == drawn[first];)
        ++next;
      lines.emplace_back(one ? "" : layout.range(down, first, next - 1), drawn[first]);
      right += static_cast<double>((next - first) *
                                   std::count(drawn[first].begin(), drawn[first].end(), '.')) /
               static_cast<double>(rows * cells);
    }
  }
};

}  // namespace

std::string picture(const Layout& layout, const std::vector<std::int64_t>& bad) {
  const std::size_t axes = layout.axes.size();
  std::optional<Map> best;
  std::size_t best_across = 0;
  for (std::size_t across = axes; across-- > 0;) {
    for (std::size_t down = axes; down-- > 0;) {
      if ((down == across && axes > 1) || layout.sizes[across] < 2) continue;
      const Map map(layout, bad, down, across);
      if (map.right == 0 || map.lines.size() > kMostLines) continue;
      const bool better = !best || map.right > best->right + 1e-9 ||
                          (map.right > best->right - 1e-9 && map.lines.size() < best->lines.size());
      if (better) best = map, best_across = across;
    }
  }
  if (!best) return "";
  if (best->lines.size() == 1) {  // the text already describes a tail
    const std::string& cells = best->lines.front().second;
    if (cells.find('.', cells.find('x')) == std::string::npos && cells.front() == '.') return "";
  }
  const std::int64_t columns = layout.sizes[best_across];
  const std::int64_t each = (columns + kMostWidth - 1) / kMostWidth;
  std::size_t widest = 0;
  for (const auto& line : best->lines)
    widest = std::max(widest, line.first.size());
  std::string text = "right (.) and wrong (x), " + layout.range(best_across, 0, columns - 1) +
                     (each > 1 ? ", each sign for " + std::to_string(each) + " of them" : "") +
                     ":\n";
  for (const auto& [label, cells] : best->lines)
    text += best->lines.size() == 1
                ? cells + "\n"
                : label + std::string(widest - label.size() + 2, ' ') + cells + "\n";
  return text;
}

std::string short_number(double x, int digits) {
  if (std::isnan(x)) return "NaN";
  std::ostringstream text;
  text.precision(digits);
  text << x;
  return text.str();
}

std::string yours_and_right(double yours, double right) {
  int digits = 3;
  while (digits < 9 && short_number(yours, digits) == short_number(right, digits))
    ++digits;
  return "yours " + short_number(yours, digits) + ", right " + short_number(right, digits);
}

namespace {

// "never written: 12 of 40 elements"
template <typename Is>
std::string counted(const std::string& what, const std::vector<float>& result, const Is& is) {
  const auto count = std::count_if(result.begin(), result.end(), is);
  if (count == 0) return "";
  return what + ": " + std::to_string(count) + " of " + std::to_string(result.size()) +
         " elements\n";
}

// "wrong: n % 64 = 32 to 63" for an axis too long for a picture. Empty if there is no period.
std::string period(const Layout& layout, const std::vector<std::int64_t>& bad) {
  for (std::size_t axis = 0; axis < layout.axes.size(); ++axis) {
    const std::int64_t size = layout.sizes[axis];
    if (size <= kMostWidth) continue;
    std::vector<bool> wrong(size, false);
    for (const std::int64_t element : bad)
      wrong[layout.along(axis, element)] = true;
    for (std::int64_t every = 2; 2 * every <= size; every *= 2) {
      if (!std::equal(wrong.begin() + every, wrong.end(), wrong.begin())) continue;
      const auto first = std::find(wrong.begin(), wrong.begin() + every, true);
      const auto last = std::find(first, wrong.begin() + every, false) - 1;
      const bool all = last - first + 1 == every;
      if (all || std::find(last + 1, wrong.begin() + every, true) != wrong.begin() + every) break;
      std::ostringstream text;
      text << "wrong";
      if (!layout.words.empty()) text << " " << plural(layout.words[axis]);
      text << ": " << layout.axes[axis] << " % " << every << " = " << first - wrong.begin();
      if (last > first) text << " to " << last - wrong.begin();
      text << "\n";
      return text.str();
    }
  }
  return "";
}

// Describes the bad elements: the first one, and whether they fill an axis or only its tail. Notes
// in the verdict what tools need of it.
std::string where(const Layout& layout, const Judged& judged, const std::vector<float>& result,
                  const std::vector<double>& truth, Verdict& verdict) {
  const std::vector<std::int64_t>& bad = judged.bad;
  std::ostringstream text;
  text << counted("never written", result, is_never_written)
       << counted("made of what was never written", result, is_of_never_written)
       << counted("is NaN", result, [](float x) {
            return std::isnan(x) && !is_never_written(x) && !is_of_never_written(x);
          });
  // Many small errors. A few elements may exceed their own limits.
  const bool small = bad.empty() || (judged.element_share < 2 && 1000 * bad.size() < truth.size());
  const std::string why = std::string(": ") + (bad.empty() ? "no" : "hardly an") +
                          " element is beyond its limit, but their errors do not cancel as those "
                          "of roundings do\n";
  if (small && judged.slope_share > 1) {
    const std::int64_t axis = judged.slope_axis, index = judged.slope_index;
    text << "all of " << (axis < 0 ? "it" : layout.range(axis, index, index)) << " is about "
         << short_number(100 * std::abs(judged.slope - 1)) << " % too "
         << (judged.slope > 1 ? "large" : "small") << why;
    return text.str();
  }
  if (bad.empty() && judged.leaning_share > 1) {
    const std::string first = layout.place(judged.leaning_row * layout.row());
    text << "the row that begins at " << first << " is wrong" << why;
  }
  if (bad.empty()) return text.str();
  const float yours = result[bad[0]];
  const double right = truth[bad[0]];
  verdict.element = layout.place(bad[0]);
  verdict.yours = yours, verdict.should_be = right;
  text << verdict.element << ": "
       << (is_never_written(yours) ? "never written; right is " + short_number(right)
                                   : yours_and_right(yours, right))
       << "\n";
  if (bad.size() == 1 && truth.size() > 1) return text.str() + "all other elements are right\n";
  for (std::size_t axis = 0; axis < layout.axes.size(); ++axis) {
    std::vector<bool> seen(layout.sizes[axis], false);
    for (std::int64_t element : bad)
      seen[layout.along(axis, element)] = true;
    const auto first = std::find(seen.begin(), seen.end(), true) - seen.begin();
    const bool to_the_end = std::find(seen.begin() + first, seen.end(), false) == seen.end();
    if (first > 0 && to_the_end) {
      // A tail is the end of a row. If most of the row is wrong, its end is not special.
      const bool columns = axis + 1 == layout.axes.size() && layout.axes[axis] != "t";
      const bool tail = 2 * first >= static_cast<std::ptrdiff_t>(seen.size());
      text << (!columns ? "right at first, then wrong: "
               : tail   ? (layout.axes.size() > 1 ? "the last columns are wrong: "
                                                  : "the last elements are wrong: ")
                        : "wrong: ")
           << layout.range(axis, first, layout.sizes[axis] - 1) << "\n";
    }
  }
  const std::string again = period(layout, bad);
  if (again.empty()) verdict.map = picture(layout, bad);
  return text.str() + again + verdict.map;
}

// The verdict's numbers, for readers who check the limits.
std::string numbers(const Layout& layout, const Judged& judged, const std::vector<float>& result,
                    const std::vector<double>& truth) {
  std::ostringstream text;
  if (judged.error.finite) {
    text << "relative error " << judged.error.whole << " (limit " << judged.limit.whole
         << "), worst row " << judged.error.worst_row << " (limit " << judged.limit.worst_row
         << ") at " << layout.position(judged.error.worst_row_index * layout.row())
         << ", worst element at " << judged.element_share
         << " of its limit: " << layout.position(judged.element) << ", slope " << judged.slope
         << " (limits " << judged.slope_least << " and " << judged.slope_most
         << "), errors of a row that lean one way at " << judged.leaning_share
         << " of their limit\n";
  }
  if (judged.bad.empty()) return text.str();
  const std::int64_t first = judged.bad[0];
  text.precision(9);
  text << "first bad element: " << layout.position(first) << " is " << result[first]
       << ", should be " << truth[first] << "; " << judged.bad.size() << " of " << truth.size()
       << " are bad\n";
  return text.str();
}

}  // namespace

FinitePart::FinitePart(const Part& part)
    : result_(*part.result), truth_(*part.truth), terms_(*part.terms), part_(part) {
  for (std::size_t i = 0; part.exact != nullptr && i < part.exact->elements.size(); ++i) {
    if (!part.exact->elements[i] || result_[i] != truth_[i]) continue;
    result_[i] = 0;
    truth_[i] = terms_[i] = 0;
  }
  part_.result = &result_;
  part_.truth = &truth_;
  part_.terms = &terms_;
  part_.exact = nullptr;
}

Judged Part::judged() const {
  if (exact != nullptr) return FinitePart(*this).part().judged();
  return judge_errors(*result, *truth, *terms, layout.sizes, roundings, stored);
}

double Part::coarseness() const {
  return roundings.stored + roundings.operands > 0 ? kBf16Rounding : 0;
}

bool Part::equals(const std::vector<double>& wrong) const {
  const std::vector<float> right(truth->begin(), truth->end());
  return !roughly_equal(right, wrong, layout.row(), coarseness()) &&
         roughly_equal(*result, wrong, layout.row(), coarseness());
}

Verdict judge_part(const Part& part) {
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
  const std::string head = "WRONG RESULT in " + layout.array + "\n";
  for (std::size_t i = 0; part.exact != nullptr && i < part.exact->elements.size(); ++i) {
    if (!part.exact->elements[i] || result[i] == truth[i]) continue;
    std::ostringstream text;
    text << head << layout.position(static_cast<std::int64_t>(i)) << " is " << result[i] << "; "
         << part.exact->rule << "\n";
    verdict.right = false;
    verdict.message = text.str();
    verdict.name_at = verdict.message.size();
    return verdict;
  }
  const Judged judged = part.judged();
  verdict.error = judged.error;
  verdict.limit = judged.limit;
  verdict.share = judged.share();
  if (judged.within_limit()) return verdict;
  verdict.right = false;
  // On some case zeros equal the answer of many a mistake, but none of these happened.
  verdict.all_zero = std::all_of(result.begin(), result.end(), [](float x) { return x == 0; });
  const bool nothing = std::all_of(result.begin(), result.end(), is_never_written);
  verdict.message = head + (verdict.all_zero ? "every element is zero.\n"
                            : nothing        ? "nothing was written.\n"
                                             : "");
  if (!verdict.all_zero && !nothing) verdict.name_at = verdict.message.size();
  verdict.numbers = numbers(layout, judged, result, truth);
  verdict.message += where(layout, judged, result, truth, verdict) + verdict.numbers;
  return verdict;
}

void require_storable(const Part& part) {
  for (std::size_t i = 0; i < part.truth->size(); ++i) {
    const double value = (*part.truth)[i];
    if (std::isfinite(part.stored(value)) || (part.exact != nullptr && part.exact->elements[i]))
      continue;
    throw std::invalid_argument("the right result of " +
                                part.layout.position(static_cast<std::int64_t>(i)) + " is " +
                                short_number(value) +
                                ", which cannot be stored; allowed: inputs and options, such as a "
                                "smaller magnitude or scale, that make finite results");
  }
}

void add_plain_loop(Verdict& verdict, const std::vector<Part>& of_plain_loop) {
  for (const Part& part : of_plain_loop) {
    if (part.layout.array == verdict.array) verdict.plain_loop = part.judged().error;
  }
}

bool is_within_limits_of(const std::vector<double>& values, const Part& result) {
  const std::int64_t row = result.layout.row();
  std::vector<double> terms = *result.terms;
  for (std::size_t first = 0; first < terms.size(); first += row) {
    double square = 0;
    for (std::size_t i = first; i < first + row; ++i)
      square += values[i] * values[i];
    for (std::size_t i = first; i < first + row; ++i)
      terms[i] = std::hypot(terms[i], values[i] - (*result.truth)[i],
                            std::sqrt(square / static_cast<double>(row)));
  }
  Part other = result;
  other.truth = &values, other.terms = &terms;
  other.roundings.operands = std::hypot(result.roundings.operands, result.roundings.stored);
  return other.judged().within_limit();
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

}  // namespace ladder
