#include "common/judge/judging.hpp"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdlib>
#include <optional>
#include <sstream>
#include <utility>

#include "common/core/poison.hpp"

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

// One axis down, one across: a line for each index down, those that are alike in one.
struct Map {
  std::vector<std::pair<std::string, std::string>> lines;  // label, cells
  double right = 0;                                        // of its cells

  // An array of one axis has one line.
  Map(const Layout& layout, const std::vector<std::int64_t>& bad, std::size_t down,
      std::size_t across) {
    const bool one = down == across;
    const std::int64_t rows = one ? 1 : layout.sizes[down], columns = layout.sizes[across];
    const std::int64_t each = (columns + kMostWidth - 1) / kMostWidth,
                       cells = (columns + each - 1) / each;
    std::vector<std::string> drawn(rows, std::string(cells, '.'));
    for (const std::int64_t element : bad) {
      const auto at = layout.index(element);
      drawn[one ? 0 : at[down]][at[across] / each] = 'x';
    }
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
  if (best->lines.size() == 1) {  // a tail is said in words
    const std::string& cells = best->lines.front().second;
    if (cells.find('.', cells.find('x')) == std::string::npos && cells.front() == '.') return "";
  }
  const std::int64_t columns = layout.sizes[best_across];
  const std::int64_t each = (columns + kMostWidth - 1) / kMostWidth;
  std::size_t widest = 0;
  for (const auto& line : best->lines)
    widest = std::max(widest, line.first.size());
  std::string text = "right (.) and wrong (x), " + layout.range(best_across, 0, columns - 1) +
                     (each > 1 ? ", " + std::to_string(each) + " to a sign" : "") + ":\n";
  for (const auto& [label, cells] : best->lines)
    text += best->lines.size() == 1
                ? cells + "\n"
                : label + std::string(widest - label.size() + 2, ' ') + cells + "\n";
  return text;
}

std::string short_number(double x) {
  if (std::isnan(x)) return "NaN";
  std::ostringstream text;
  text.precision(3);
  text << x;
  return text.str();
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

// "wrong: n % 64 = 32 to 63", of an axis that is too long for a picture. "" if the wrong ones do not come again and again.
std::string period(const Layout& layout, const std::vector<std::int64_t>& bad) {
  for (std::size_t axis = 0; axis < layout.axes.size(); ++axis) {
    const std::int64_t size = layout.sizes[axis];
    if (size <= kMostWidth) continue;
    std::vector<bool> wrong(size, false);
    for (const std::int64_t element : bad)
      wrong[layout.index(element)[axis]] = true;
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

// Which elements are bad, as a reader can use it: the first one, and whether they fill an axis or only its tail.
std::string where(const Layout& layout, const std::vector<float>& result,
                  const std::vector<double>& truth, const std::vector<std::int64_t>& bad) {
  std::ostringstream text;
  text << counted("never written", result, is_never_written)
       << counted("added to what was never written", result, is_of_never_written)
       << counted("is NaN", result, [](float x) {
            return std::isnan(x) && !is_never_written(x) && !is_of_never_written(x);
          });
  if (bad.empty()) return text.str();
  const float yours = result[bad[0]];
  text << layout.place(bad[0]) << ": "
       << (is_never_written(yours) ? "never written" : "yours " + short_number(yours)) << ", right "
       << short_number(truth[bad[0]]) << "\n";
  if (bad.size() == 1 && truth.size() > 1) return text.str() + "all other elements are right\n";
  for (std::size_t axis = 0; axis < layout.axes.size(); ++axis) {
    std::vector<bool> seen(layout.sizes[axis], false);
    for (std::int64_t element : bad)
      seen[layout.index(element)[axis]] = true;
    const auto first = std::find(seen.begin(), seen.end(), true) - seen.begin();
    const bool to_the_end = std::find(seen.begin() + first, seen.end(), false) == seen.end();
    if (first > 0 && to_the_end) {
      // A tail is the end of a row. Where nearly all of it is wrong, the end is not what is special.
      const bool columns = axis + 1 == layout.axes.size() && layout.axes[axis] != "t";
      const bool tail = 2 * first >= static_cast<std::ptrdiff_t>(seen.size());
      text << (!columns ? "right at first, then wrong: "
               : tail   ? "the last columns are wrong: "
                        : "wrong: ")
           << layout.range(axis, first, layout.sizes[axis] - 1) << "\n";
    }
  }
  const std::string again = period(layout, bad);
  text << (again.empty() ? picture(layout, bad) : again);
  return text.str();
}

// Which slices along one axis hold what others should: "column 2 holds what column 1 should". "" unless that is all that is wrong.
std::string misplaced(const Layout& layout, const std::vector<float>& result,
                      const std::vector<double>& truth) {
  constexpr std::int64_t kFewest = 4, kMostSlices = 256, kMostSaid = 3;
  double square = 0;
  for (const double x : truth)
    square += x * x;
  const double close = 1e-4 * std::sqrt(square / static_cast<double>(truth.size()));
  std::int64_t stride = 1, slices = 1;
  for (std::size_t axis = layout.axes.size(); axis-- > 0;) {
    stride *= slices;
    slices = layout.sizes[axis];
    const std::int64_t outer = static_cast<std::int64_t>(truth.size()) / (stride * slices);
    if (slices < 2 || slices > kMostSlices || outer * stride < kFewest) continue;
    const auto holds = [&](std::int64_t slice, std::int64_t of) {
      bool shows =
          slice ==
          of;  // zeros are found in many places: they say nothing about where they come from
      for (std::int64_t n = 0; n < outer; ++n) {
        for (std::int64_t i = 0; i < stride; ++i) {
          const double yours = result[(n * slices + slice) * stride + i];
          if (!(std::abs(yours - truth[(n * slices + of) * stride + i]) <= close)) return false;
          shows = shows || std::abs(yours) > close;
        }
      }
      return shows;
    };
    std::string text;
    std::int64_t said = 0;
    bool all = true;
    for (std::int64_t slice = 0; slice < slices && all; ++slice) {
      if (holds(slice, slice)) continue;
      std::int64_t of = 0;
      while (of < slices && !holds(slice, of))
        ++of;
      all = of < slices;
      if (all && ++said <= kMostSaid) {
        text += (text.empty() ? "" : ", ") + layout.range(axis, slice, slice) + " holds what " +
                layout.range(axis, of, of) + " should";
      }
    }
    if (all && said > 0) return text + (said > kMostSaid ? ", ...\n" : "\n");
  }
  return "";
}

// The words for a wrong result: a misconception's, else what can be seen in the numbers.
std::string words(const Part& part, const std::function<std::string()>& explain) {
  const std::string known = explain();
  if (!known.empty()) return known;
  constexpr float kHuge = 1e30f;  // what no formula here gives
  const auto is_huge = [](float x) { return std::isfinite(x) && std::abs(x) > kHuge; };
  const auto huge = std::find_if(part.result->begin(), part.result->end(), is_huge);
  const bool expected = std::any_of(part.truth->begin(), part.truth->end(),
                                    [](double x) { return std::abs(x) > kHuge / 1e10; });
  if (huge != part.result->end() && !expected) {
    return "Some elements are huge, such as " + short_number(*huge) +
           ". Is a variable read before it is given a value? (./ladder exercise puts -1.7e38 into "
           "each that has none)\n";
  }
  std::string text = misplaced(part.layout, *part.result, *part.truth);
  if (!text.empty()) text[0] = static_cast<char>(std::toupper(text[0]));
  return text;
}

// What was found, as a sentence: "It equals the result with the bonus forgotten."
std::string sentence(std::string words) {
  if (words.starts_with("equals ")) words = "It " + words;
  while (!words.empty() && words.back() == '\n')
    words.pop_back();
  return words.empty() ? ""
                       : words + (std::ispunct(words.back()) && words.back() != ')' ? "\n" : ".\n");
}

// For who looks at the limits: what the verdict was made of.
std::string numbers(const Layout& layout, const Judged& judged, const std::vector<float>& result,
                    const std::vector<double>& truth) {
  std::ostringstream text;
  if (judged.error.finite) {
    text << "relative error " << judged.error.whole << " (limit " << judged.limit.whole
         << "), worst row " << judged.error.worst_row << " (limit " << judged.limit.worst_row
         << ") at " << layout.position(judged.error.worst_row_index * layout.row())
         << ", worst element at " << judged.element_share
         << " of its limit: " << layout.position(judged.element) << "\n";
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
  // Zeros equal many a misconception on some case; none of them is what happened.
  const bool zeros = std::all_of(result.begin(), result.end(), [](float x) { return x == 0; });
  const bool nothing = std::all_of(result.begin(), result.end(), is_never_written);
  // Who asks which of many cases are wrong does not ask why.
  const bool named = std::getenv("LADDER_NO_NAMES") == nullptr;
  verdict.message = "WRONG RESULT in " + layout.array + "\n" +
                    sentence(zeros     ? "every element is zero"
                             : nothing ? "nothing was written"
                             : named   ? words(part, explain)
                                       : "") +
                    where(layout, result, truth, judged.bad) +
                    numbers(layout, judged, result, truth);
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

std::string constant_factor(const Part& part, double rounding) {
  double product = 0, square = 0;
  for (std::size_t i = 0; i < part.truth->size(); ++i) {
    product += (*part.result)[i] * (*part.truth)[i];
    square += (*part.truth)[i] * (*part.truth)[i];
  }
  const double factor = product / square;
  if (!std::isfinite(factor) || factor == 0) return "";
  std::vector<double> scaled = *part.truth;
  for (double& x : scaled)
    x *= factor;
  if (!roughly_equal(*part.result, scaled, part.layout.row(), rounding)) return "";
  return "Each element is " + short_number(factor) + " times what it should be\n";
}

}  // namespace ladder::reference
