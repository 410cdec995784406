#include "common/diagnosis/probe.hpp"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdlib>
#include <ctime>
#include <iterator>
#include <map>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include "common/core/poison.hpp"
#include "common/core/text.hpp"
#include "common/diagnosis/regions.hpp"
#include "common/judge/mistakes.hpp"
#include "common/judge/named_arrays.hpp"

namespace ladder {
namespace {

constexpr double kMostRuns = 320;
constexpr double kShareOfSeconds = 0.1;  // of the diagnosis, which has several searches
constexpr std::int64_t kFewestOfLine = 4, kMostOfLine = 32, kMostCompleted = 128;
constexpr double kMostWork = 1e8;    // FMAs of all runs
constexpr double kFp32Noise = 2e-6;  // relative to the largest element of a result
constexpr double kClose = 2e-3;      // relative to a response
constexpr double kStrong = 0.05;     // a larger share of the largest response must not be missing

using Values = std::vector<double>;

double most_seconds() {
  return kShareOfSeconds * diagnosis_seconds();
}

double largest(const Values& values) {
  double most = 0;
  for (const double x : values)
    most = std::max(most, std::abs(x));  // skips NaN
  return most;
}

// What changing one element changes in the wrong output.
struct Response {
  Values yours, right;
  double noise = 0, close = 0;  // changes up to `noise` and differences up to `close` are none
  bool is_known = true;         // false if NaN or infinite where the right ones change

  bool counts() const { return is_known && largest(right) > 10 * noise; }
  bool is_nothing_of_much() const { return counts() && largest(yours) <= noise; }
  bool is_nothing() const { return largest(yours) <= close; }
  bool is_right() const { return is_times(1); }
  bool is_times(double factor) const {
    for (std::size_t i = 0; i < right.size(); ++i) {
      if (!(std::abs(yours[i] - factor * right[i]) <= close * std::max(1.0, std::abs(factor))))
        return false;
    }
    return true;
  }
  // The factor of the whole response, or NaN if there is none.
  double factor() const {
    double product = 0, square = 0;
    for (std::size_t i = 0; i < right.size(); ++i) {
      product += yours[i] * right[i];
      square += right[i] * right[i];
    }
    const double factor = product / square;
    return is_nothing() ? 0 : is_times(factor) ? factor : std::nan("");
  }
};

// Another value in the array's range, negative or positive if all values are.
float other_value(float x, const std::vector<float>& values) {
  const auto [least, most] = std::minmax_element(values.begin(), values.end());
  if (*most <= 0) return x / 2 - 0.25f;
  return *least >= 0 ? x / 2 + 0.25f : x + 1;
}

class Input {
 public:
  Input(const RealInput& real) : real_(real), layout_(layout_of(real.array)) {
    layout_.words = real.words;
    for (const std::int64_t size : layout_.sizes)
      base_ = base_ * size + size / 2;
  }

  const std::string& name() const { return layout_.array; }
  const Layout& layout() const { return layout_; }
  bool linear() const { return real_.linear; }
  std::int64_t base() const { return base_; }

  // All elements before one of them is changed.
  std::vector<float> unchanged() const {
    return linear() ? std::vector<float>(real_.values.size(), 0.0f) : real_.values;
  }
  float changed_value(std::int64_t element) const {
    return linear() ? 1.0f : other_value(real_.values[element], real_.values);
  }
  float value(std::int64_t element) const { return real_.values[element]; }
  const std::vector<float>& values() const { return real_.values; }

  // About `most` elements in line with the base along one axis: base, ends, others equally spaced.
  std::vector<std::int64_t> line(std::size_t axis, std::int64_t most) const {
    std::int64_t stride = 1;
    for (std::size_t inner = axis + 1; inner < layout_.sizes.size(); ++inner)
      stride *= layout_.sizes[inner];
    const std::int64_t size = layout_.sizes[axis], own = base_ / stride % size;
    const std::int64_t step = (size + most - 1) / most;
    std::vector<std::int64_t> elements;
    for (std::int64_t n = 0; n < size; ++n) {
      if (n % step == own % step || n == 0 || n == size - 1)
        elements.push_back(base_ + (n - own) * stride);
    }
    return elements;
  }
  std::int64_t at(std::int64_t element, std::size_t axis) const {
    return layout_.index(element)[axis];
  }

  std::map<std::int64_t, Response> responses = {};

 private:
  const RealInput& real_;
  Layout layout_;
  std::int64_t base_ = 0;
};

class Probe {
 public:
  Probe(const Problem& problem, const Implementation& wrong, Arithmetic arithmetic,
        std::size_t output)
      : problem_(problem), wrong_(wrong), arithmetic_(arithmetic), output_(output) {
    const std::clock_t begin = std::clock();
    run(problem, [&](const Examined& examined) {
      layout_ = examined.parts[output_].layout;
      coarseness_ = examined.parts[output_].coarseness();
      result_.assign(examined.parts[output_].result->begin(),
                     examined.parts[output_].result->end());
      work_ = std::max(1.0, examined.mistakes.work);
    });
    seconds_ = static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
  }

  // Whether another run gives the same result. If not, the kernel reads foreign memory.
  bool repeats() const {
    bool same = true;
    run(problem_, [&](const Examined& examined) {
      const double close = (kFp32Noise + 4 * coarseness_) * largest(result_);
      for (std::size_t i = 0; i < result_.size(); ++i) {
        const double now = (*examined.parts[output_].result)[i];
        const bool both_none = !std::isfinite(now) && !std::isfinite(result_[i]);
        same = same && (both_none || std::abs(now - result_[i]) <= close);
      }
    });
    return same;
  }

  std::string words() {
    const std::vector<RealInput> real = problem_.real_inputs();
    if (layout_.axes.empty() || real.empty()) return "";
    std::int64_t lines = 0;
    for (const RealInput& each : real)
      lines += std::ssize(layout_of(each.array).axes);
    const double runs = std::min({kMostRuns, kMostWork / work_, most_seconds() / seconds_});
    const std::int64_t of_line = std::min(kMostOfLine, static_cast<std::int64_t>(runs) / lines);
    if (of_line < kFewestOfLine) {
      std::string words = steps_of_one(real);
      if (words.empty()) words = reached_by_few(real);
      return words.empty() ? "" : words + "\n";
    }
    for (const RealInput& each : real) {
      Input input(each);
      bool finite = true;
      for (std::size_t axis = 0; finite && axis < input.layout().axes.size(); ++axis)
        finite = respond(input, axis, of_line);
      if (finite) inputs_.push_back(std::move(input));
    }
    if (inputs_.empty()) return "";
    std::string words = not_read();
    if (words.empty()) words = parts_of_inputs();
    const SaidOfShares shares = words.empty() ? steps() : SaidOfShares{};
    if (words.empty() && shares.exact) words = shares.words;
    if (words.empty()) words = reached();
    if (words.empty()) words = shares.words;
    if (words.empty()) words = values();
    return words.empty() ? "" : words + "\n";
  }

 private:
  struct Outputs {
    Values yours, right;
    double size = 0;  // of the largest element, or the root of its squared terms
  };
  // Calls use(examined) with the kernel's result for this problem.
  template <typename Use>
  void run(const Problem& problem, const Use& use) const {
    Device& where = device(wrong_.device);
    const auto placed = problem.place(where, wrong_);
    placed->call();
    where.synchronize();
    placed->examine(arithmetic_, use);
  }
  std::optional<Outputs> run(const std::string& input, const std::vector<float>& values) const {
    std::optional<Outputs> outputs;
    run(*problem_.with(input, values), [&](const Examined& examined) {
      const Part& part = examined.parts[output_];
      const bool finite = std::all_of(part.truth->begin(), part.truth->end(),
                                      [](double x) { return std::isfinite(x); });
      if (finite) {
        outputs = {Values(part.result->size()), *part.truth,
                   std::max(largest(*part.truth), largest(*part.terms))};
        // Elements that were not written keep their old value.
        std::transform(part.result->begin(), part.result->end(), outputs->yours.begin(),
                       [](float x) { return is_never_written(x) ? 0.0 : x; });
      }
    });
    return outputs;
  }

  // Changes the elements of a line. Returns whether the truth is finite for all of them.
  bool respond(Input& input, std::size_t axis, std::int64_t most) const {
    std::vector<float> values = input.unchanged();
    std::optional<Outputs> before;
    for (const std::int64_t element : input.line(axis, most)) {
      if (input.responses.count(element)) continue;
      if (!before) before = run(input.name(), values);
      const float own = std::exchange(values[element], input.changed_value(element));
      const std::optional<Outputs> after = run(input.name(), values);
      values[element] = own;
      if (!before || !after) return false;
      input.responses[element] = difference(*before, *after);
    }
    return true;
  }

  Response change_of_all(const Input& input) const {
    std::vector<float> values = input.unchanged();
    const std::optional<Outputs> before = run(input.name(), values);
    for (std::size_t i = 0; i < values.size(); ++i)
      values[i] = input.changed_value(static_cast<std::int64_t>(i));
    const std::optional<Outputs> after = run(input.name(), values);
    return before && after ? difference(*before, *after) : Response{};
  }

  Response difference(const Outputs& before, const Outputs& after) const {
    Response response;
    const auto subtract = [](const Values& a, const Values& b) {
      Values result(a.size());
      for (std::size_t i = 0; i < a.size(); ++i) {
        const bool none = !std::isfinite(a[i]) && !std::isfinite(b[i]);
        result[i] = none ? 0 : a[i] - b[i];
      }
      return result;
    };
    response.yours = subtract(after.yours, before.yours);
    response.right = subtract(after.right, before.right);
    response.noise = (kFp32Noise + 4 * coarseness_) * std::max(before.size, after.size);
    response.close = std::max(response.noise, (kClose + 2 * coarseness_) * largest(response.right));
    for (std::size_t i = 0; i < response.right.size(); ++i) {
      const bool are_numbers = std::isfinite(before.yours[i]) && std::isfinite(after.yours[i]);
      if (!are_numbers && std::abs(response.right[i]) > response.noise) response.is_known = false;
    }
    return response;
  }

  std::string not_read() {
    std::vector<std::string> names;
    for (const Input& input : inputs_) {
      if (change_of_all(input).is_nothing_of_much()) names.push_back(input.name());
    }
    if (names.empty() || names.size() == inputs_.size()) return "";
    return layout_.array + " does not change with " + joined(names, " or ") + ": " +
           (names.size() == 1 ? "it is" : "they are") + " not read, or what is made of " +
           (names.size() == 1 ? "it" : "them") + " is lost";
  }

  std::string parts_of_inputs() {
    std::vector<std::string> names;
    std::string of, what;
    for (Input& input : inputs_) {
      for (std::size_t axis = 0; axis < input.layout().axes.size(); ++axis) {
        if (is_right(input, axis) || !complete(input, axis)) continue;
        const auto [indices, factor] = wrong_part(input, axis);
        if (indices.empty() || !holds_at_both_ends(input, axis, indices.front(), factor)) continue;
        const std::string those = named(input.layout(), axis, indices);
        if (!names.empty() && (of != those || what != said_of(factor))) continue;
        if (!names.empty() && names.back() == input.name()) continue;
        names.push_back(input.name());
        of = those;
        what = said_of(factor);
      }
    }
    if (names.empty()) return "";
    return layout_.array + " takes " + what + " from " + joined(names, ", ") + " of " + of +
           (all_known() ? "; from all others it takes what it should" : "");
  }

  // Whether the result is finite wherever the right one changes. NaN hides what reaches it.
  bool all_known() const {
    return std::all_of(inputs_.begin(), inputs_.end(), [](const Input& input) {
      return std::all_of(input.responses.begin(), input.responses.end(),
                         [](const auto& each) { return each.second.is_known; });
    });
  }

  static bool is_right(const Input& input, std::size_t axis) {
    return std::all_of(input.responses.begin(), input.responses.end(), [&](const auto& each) {
      return !is_on_line(input, each.first, axis) || !each.second.counts() ||
             each.second.is_right();
    });
  }

  // Changes the remaining elements of a line.
  bool complete(Input& input, std::size_t axis) const {
    const std::int64_t size = input.layout().sizes[axis];
    const std::vector<std::int64_t> all = input.line(axis, size);
    if (std::all_of(all.begin(), all.end(),
                    [&](auto each) { return input.responses.count(each) > 0; }))
      return true;
    return size <= kMostCompleted && size * work_ <= kMostWork &&
           size * seconds_ <= most_seconds() && respond(input, axis, size);
  }

  // Whether the first and the last of all elements with this index along the axis respond in the
  // same way, because the one line that was changed may be special.
  bool holds_at_both_ends(const Input& input, std::size_t axis, std::int64_t index,
                          double factor) const {
    std::vector<float> values = input.unchanged();
    const auto size = static_cast<std::int64_t>(values.size());
    std::int64_t first = 0, last = size - 1;
    while (first < size && input.at(first, axis) != index)
      ++first;
    while (last >= 0 && input.at(last, axis) != index)
      --last;
    const std::optional<Outputs> before = run(input.name(), values);
    for (const std::int64_t element : {first, last}) {
      if (element < 0 || element >= size) return false;
      const float own = std::exchange(values[element], input.changed_value(element));
      const std::optional<Outputs> after = run(input.name(), values);
      values[element] = own;
      if (!before || !after) return false;
      const Response response = difference(*before, *after);
      if (!response.counts()) continue;
      if (response.is_right() || !(std::abs(response.factor() - factor) <= kClose * 2))
        return false;
    }
    return true;
  }

  static std::string said_of(double factor) {
    return factor == 0 ? "nothing" : short_number(factor) + " times what it should";
  }

  static std::string named(const Layout& layout, std::size_t axis,
                           const std::vector<std::int64_t>& indices) {
    std::string text = layout.range(axis, indices.front(), indices.back());
    // Replaces the range by a list of numbers, and keeps the axis' word.
    const auto digit =
        text.find_first_of("0123456789", text.find_last_of(" =", text.find(" to ") - 1));
    return text.substr(0, digit) + list_of(indices);
  }

  // The indices along the axis that have no effect, or a common factor, if all others are right.
  std::pair<std::vector<std::int64_t>, double> wrong_part(const Input& input,
                                                          std::size_t axis) const {
    std::vector<std::int64_t> wrong;
    std::int64_t right = 0;
    double first = 0;
    for (const auto& [element, response] : input.responses) {
      if (!is_on_line(input, element, axis) || !response.counts()) continue;
      if (response.is_right()) {
        ++right;
        continue;
      }
      const double factor = response.factor();
      if (std::isnan(factor) || (!wrong.empty() && std::abs(factor - first) > kClose * 2))
        return {};
      first = factor;
      wrong.push_back(input.at(element, axis));
    }
    if (right == 0) return {};
    return {wrong, first};
  }

  static bool is_on_line(const Input& input, std::int64_t element, std::size_t axis) {
    const auto own = input.layout().index(input.base()), at = input.layout().index(element);
    for (std::size_t other = 0; other < own.size(); ++other) {
      if (other != axis && own[other] != at[other]) return false;
    }
    return true;
  }

  // The axis of that name, or nullopt if there is none.
  static std::optional<std::size_t> axis_of(const Layout& layout, const std::string& name) {
    const auto found = std::find(layout.axes.begin(), layout.axes.end(), name);
    if (found == layout.axes.end()) return std::nullopt;
    return found - layout.axes.begin();
  }

  // steps() for a slow kernel, by one input with the output's axes. o(t, i) is linear in v(t, i).
  std::string steps_of_one(const std::vector<RealInput>& real) {
    for (const RealInput& each : real) {
      Input input(each);
      const Layout& layout = input.layout();
      const auto t = axis_of(layout, "t");
      const bool is_like_output =
          std::all_of(layout.axes.begin(), layout.axes.end(),
                      [&](const std::string& axis) { return axis_of(layout_, axis).has_value(); });
      if (!input.linear() || !t || !is_like_output) continue;
      const std::int64_t size = layout.sizes[*t];
      if (size > kMostCompleted || static_cast<double>(size) * seconds_ > most_seconds() ||
          !respond(input, *t, size))
        continue;
      inputs_.push_back(std::move(input));
      return steps().words;
    }
    return "";
  }

  // reached() for an even slower kernel, with a few steps of such an input.
  std::string reached_by_few(const std::vector<RealInput>& real) {
    constexpr std::int64_t kFewest = 2;
    const auto runs = static_cast<std::int64_t>(most_seconds() / seconds_);
    for (const RealInput& each : real) {
      Input input(each);
      const auto t = axis_of(input.layout(), "t");
      if (runs < kFewest || !input.linear() || !t ||
          !respond(input, *t, std::min(runs, kMostOfLine)))
        continue;
      inputs_.push_back(std::move(input));
      return reached();
    }
    return "";
  }

  // Each other step's share in a step, by an input with steps in which the output is linear.
  SaidOfShares steps() {
    const std::string t = "t";
    const auto of_output = axis_of(layout_, t);
    for (Input& input : inputs_) {
      const auto of_input = axis_of(input.layout(), t);
      if (!of_output || !of_input || !input.linear()) continue;
      const std::int64_t queries = layout_.sizes[*of_output],
                         keys = input.layout().sizes[*of_input];
      if (!complete(input, *of_input)) continue;
      Shares yours(queries * keys), right(queries * keys);
      bool takes_from_others = false;
      double noise = 0;
      for (const auto& [element, response] : input.responses) {
        if (!is_on_line(input, element, *of_input)) continue;
        if (!response.is_known) return {};
        const std::int64_t key = input.at(element, *of_input);
        noise = std::max(noise, response.noise);
        add_shares(response, *of_output, key, keys, yours, right);
        takes_from_others =
            takes_from_others ||
            where(response.right, response.close)[*of_output] != std::vector<std::int64_t>{key};
      }
      if (!takes_from_others || !is_one_of_many(input, *of_input, *of_output)) continue;
      const SaidOfShares said =
          explain_shares({yours, right, queries, keys, noise}, input.name(),
                         word(layout_, *of_output), word(input.layout(), *of_input));
      if (!said.words.empty()) return said;
    }
    return {};
  }

  // Whether the base's neighbours along the other axes miss the same steps, and reach nothing that
  // they should not. Then the words apply to all of the input.
  bool is_one_of_many(const Input& input, std::size_t of_input, std::size_t of_output) const {
    using Steps = std::vector<std::int64_t>;
    const auto steps_above = [&](const Values& values, double least) {
      return where(values, least)[of_output];
    };
    const auto common = [](const Steps& a, const Steps& b) {
      Steps both;
      std::set_intersection(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(both));
      return both;
    };
    const Response& base = input.responses.at(input.base());
    const Steps reached = steps_above(base.yours, base.close);
    Steps missed;
    for (const std::int64_t step : steps_above(base.right, kStrong * largest(base.right))) {
      if (!std::binary_search(reached.begin(), reached.end(), step)) missed.push_back(step);
    }
    for (std::size_t axis = 0; axis < input.layout().axes.size(); ++axis) {
      for (const auto& [element, each] : input.responses) {
        if (axis == of_input || !is_on_line(input, element, axis) || !each.counts()) continue;
        const Steps strong = steps_above(each.right, kStrong * largest(each.right));
        const Steps comes = steps_above(each.yours, each.close);
        if (!common(common(missed, strong), comes).empty() || goes_astray(each, of_output))
          return false;
      }
    }
    return true;
  }

  // Whether it changes wrong elements of the output along another axis than this.
  bool goes_astray(const Response& response, std::size_t axis) const {
    const auto yours = where(response.yours, response.close);
    const auto right = where(response.right, 1e-12 * largest(response.right));
    for (std::size_t other = 0; other < yours.size(); ++other) {
      if (other != axis && !are_all_in(yours[other], right[other])) return true;
    }
    return false;
  }

  static std::string word(const Layout& layout, std::size_t axis) {
    return layout.words.empty() ? layout.axes[axis] : layout.words[axis];
  }

  // Uses the largest element of each step.
  void add_shares(const Response& response, std::size_t axis, std::int64_t key, std::int64_t keys,
                  Shares& yours, Shares& right) const {
    std::vector<double> most(layout_.sizes[axis], 0.0);
    for (std::size_t i = 0; i < response.right.size(); ++i) {
      const std::int64_t t = layout_.index(static_cast<std::int64_t>(i))[axis];
      const double size = std::max(std::abs(response.right[i]), std::abs(response.yours[i]));
      if (!(size > most[t])) continue;
      most[t] = size;
      yours[t * keys + key] = response.yours[i];
      right[t * keys + key] = response.right[i];
    }
  }

  // The indices along each axis where a response is above a value.
  std::vector<std::vector<std::int64_t>> where(const Values& values, double above) const {
    std::vector<std::vector<std::int64_t>> result(layout_.axes.size());
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (!(std::abs(values[i]) > above)) continue;
      const auto at = layout_.index(static_cast<std::int64_t>(i));
      for (std::size_t axis = 0; axis < at.size(); ++axis)
        result[axis].push_back(at[axis]);
    }
    for (auto& indices : result) {
      std::sort(indices.begin(), indices.end());
      indices.erase(std::unique(indices.begin(), indices.end()), indices.end());
    }
    return result;
  }

  // "A change of k(b=1, t=9, h=1, j=16) alone changes o of steps 10 to 17; it should change o of
  // steps 9 to 17", for the element with differences along the fewest axes. Elements that reach too
  // much come first, because missing effects may be caused by another array's mistake.
  std::string reached() {
    std::string said;
    std::size_t fewest = 2 * layout_.axes.size() + 1;
    for (const Input& input : inputs_) {
      if (is_rounded_to_whole_numbers(input)) continue;
      for (const auto& [element, response] : base_first(input)) {
        if (!response->is_known) continue;
        const double tiny = 1e-12 * largest(response->right), noise = response->noise;
        const double strong = std::max(kStrong * largest(response->right), 10 * noise);
        const auto yours = where(response->yours, noise), right = where(response->right, tiny);
        const auto extra = where(response->yours, response->close),
                   needed = where(response->right, strong);
        const double by_chance = std::min(1.0, noise / typical(response->yours, noise));
        std::vector<std::size_t> axes;
        bool comes_too_far = false;
        for (std::size_t axis = 0; axis < yours.size(); ++axis) {
          const bool too_far = !are_all_in(extra[axis], right[axis]);
          const std::size_t missing = outside(needed[axis], yours[axis]).size();
          const bool misses =
              missing > 0 &&
              missing > most_by_chance(expected_missing(response->right, strong, axis, by_chance),
                                       needed[axis].size());
          comes_too_far = comes_too_far || too_far;
          if (too_far || misses) axes.push_back(axis);
        }
        if (axes.empty()) continue;
        const std::size_t differ = axes.size() + (comes_too_far ? 0 : layout_.axes.size());
        if (differ >= fewest) continue;
        if (yours.front().empty()) {
          fewest = differ;
          said = "A change of " + input.layout().position(element) + " alone changes nothing in " +
                 layout_.array + "; it should";
          continue;
        }
        const auto changed = without_faint_gaps(yours, *response, by_chance);
        const std::string is = places(axes, changed), should = places(axes, right);
        if (is == should) continue;  // the difference is too faint to be shown by indices
        fewest = differ;
        said = "A change of " + input.layout().position(element) + " alone changes " + is +
               "; it should change " + should;
        // Where `right` is below the noise, a missing change proves nothing. Where the kernel's own
        // change is below the noise, it may be rounding.
        const auto visible = where(response->right, 10 * noise), any = where(response->yours, 0);
        for (const std::size_t axis : axes) {
          const auto unclear = [&](const std::vector<std::int64_t>& which) {
            return outside(outside(which, changed[axis]), visible[axis]);
          };
          std::vector<std::int64_t> faint = unclear(right[axis]), all;
          if (!faint.empty() && faint.size() == right[axis].size()) {
            said += ", perhaps too faintly to be seen";
            faint.clear();
          }
          const auto below = outside(unclear(any[axis]), right[axis]);
          std::set_union(faint.begin(), faint.end(), below.begin(), below.end(),
                         std::back_inserter(all));
          if (!all.empty()) said += "; too faint to tell: " + named(layout_, axis, all);
        }
      }
    }
    return said;
  }

  // All responses, the base's first.
  static std::vector<std::pair<std::int64_t, const Response*>> base_first(const Input& input) {
    std::vector<std::pair<std::int64_t, const Response*>> list;
    for (const auto& [element, response] : input.responses)
      list.push_back({element, &response});
    std::stable_partition(list.begin(), list.end(),
                          [&](const auto& each) { return each.first == input.base(); });
    return list;
  }

  static bool are_all_in(const std::vector<std::int64_t>& some,
                         const std::vector<std::int64_t>& all) {
    return std::includes(all.begin(), all.end(), some.begin(), some.end());
  }

  static std::vector<std::int64_t> outside(const std::vector<std::int64_t>& some,
                                           const std::vector<std::int64_t>& all) {
    std::vector<std::int64_t> rest;
    std::set_difference(some.begin(), some.end(), all.begin(), all.end(), std::back_inserter(rest));
    return rest;
  }

  // The root mean square of the values above the noise. The noise may hide a share of them.
  static double typical(const Values& values, double noise) {
    double squares = 0, count = 0;
    for (const double x : values) {
      if (std::abs(x) > noise) squares += x * x, ++count;
    }
    return count > 0 ? std::sqrt(squares / count) : INFINITY;
  }

  // The most of `of` indices that may be missing by chance if `expected` are on average. Hundreds
  // of elements are tried, and none of them should exceed this.
  static std::size_t most_by_chance(double expected, std::size_t of) {
    constexpr double kNever = 1e-5;
    double exactly = std::exp(-expected),
           more = 1 - exactly;  // Poisson chances of n, and of more than n
    std::size_t n = 0;
    while (more > kNever && n < of) {
      exactly *= expected / static_cast<double>(++n);
      more -= exactly;
    }
    return n;
  }

  // Expected number of indices along the axis whose strong elements are all missing by chance.
  double expected_missing(const Values& right, double strong, std::size_t axis,
                          double chance) const {
    std::map<std::int64_t, double> all_missing;
    for (std::size_t i = 0; i < right.size(); ++i) {
      if (!(std::abs(right[i]) > strong)) continue;
      const std::int64_t index = layout_.index(static_cast<std::int64_t>(i))[axis];
      all_missing.try_emplace(index, 1.0).first->second *= chance;
    }
    double expected = 0;
    for (const auto& [index, its] : all_missing)
      expected += its;
    return expected;
  }

  // Fills gaps that rounding may have caused, if they are few by chance or faint.
  std::vector<std::vector<std::int64_t>> without_faint_gaps(
      std::vector<std::vector<std::int64_t>> places, const Response& response,
      double chance) const {
    constexpr double kFaint = 30;  // in units of the noise
    for (std::size_t axis = 0; axis < places.size(); ++axis) {
      std::vector<std::int64_t>& along = places[axis];
      if (along.empty()) continue;
      const auto span = static_cast<std::size_t>(along.back() - along.front() + 1);
      const std::size_t gaps = span - along.size();
      if (gaps == 0 || 4 * gaps > along.size()) continue;
      const auto strong = where(response.yours, kFaint * response.noise)[axis];
      const auto is_strong = [&](std::int64_t index) {
        return std::binary_search(strong.begin(), strong.end(), index);
      };
      bool faint = true;  // whether each gap is next to a faint index
      for (std::size_t n = 1; n < along.size(); ++n) {
        const bool gap = along[n] > along[n - 1] + 1;
        faint = faint && !(gap && is_strong(along[n - 1]) && is_strong(along[n]));
      }
      if (!faint && gaps > most_by_chance(chance * static_cast<double>(span), span)) continue;
      const std::int64_t first = along.front();
      along.resize(span);
      std::iota(along.begin(), along.end(), first);
    }
    return places;
  }

  // Integers may change or not by the chance of rounding.
  bool is_rounded_to_whole_numbers(const Input& input) const {
    const auto is_whole = [](double x) { return std::isfinite(x) && x == std::rint(x); };
    const bool changes_something =
        std::any_of(input.responses.begin(), input.responses.end(),
                    [](const auto& each) { return largest(each.second.right) > 0; });
    const bool all_are_whole =
        std::all_of(input.responses.begin(), input.responses.end(), [&](const auto& each) {
          return std::all_of(each.second.right.begin(), each.second.right.end(), is_whole);
        });
    return changes_something && all_are_whole &&
           !std::all_of(input.values().begin(), input.values().end(), is_whole);
  }

  std::string places(const std::vector<std::size_t>& axes,
                     const std::vector<std::vector<std::int64_t>>& here) const {
    std::vector<std::string> parts;
    for (const std::size_t axis : axes) {
      if (here[axis].empty()) return "nothing of it";
      parts.push_back(named(layout_, axis, here[axis]));
    }
    return layout_.array + " of " + joined(parts, ", ");
  }

  std::string values() {
    for (const Input& input : inputs_) {
      for (const auto& [element, response] : base_first(input)) {
        const bool are_numbers = std::all_of(response->yours.begin(), response->yours.end(),
                                             [](double x) { return std::isfinite(x); });
        if (!are_numbers || !response->counts() || response->is_right()) continue;
        const double factor = response->factor();
        std::size_t wrong = 0;
        while (std::abs(response->yours[wrong] - response->right[wrong]) <= response->close)
          ++wrong;
        const std::string change =
            input.linear() ? "When " + input.layout().position(element) +
                                 " is 1 in place of 0, and all else of " + input.name() + " is 0, "
                           : "When " + input.layout().position(element) + " changes from " +
                                 short_number(input.value(element)) + " to " +
                                 short_number(input.changed_value(element)) + ", ";
        return change + layout_.position(static_cast<std::int64_t>(wrong)) + " changes by " +
               short_number(response->yours[wrong]) + "; it should change by " +
               short_number(response->right[wrong]) +
               (std::isnan(factor) || is_rounded_to_whole_numbers(input)
                    ? ""
                    : " (" + short_number(factor) + " times that)");
      }
    }
    return "";
  }

  const Problem& problem_;
  const Implementation& wrong_;
  Arithmetic arithmetic_;
  std::size_t output_;
  Layout layout_;
  double coarseness_ = 0, work_ = 1, seconds_ = 0;
  Values result_;  // of the first run
  std::vector<Input> inputs_;
};

// Different values in its range, for an array that has only one.
std::vector<float> varied(const std::vector<float>& values) {
  constexpr std::size_t kDifferent = 7;
  std::vector<float> others(values.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    const float other = other_value(values[i], values);
    others[i] = other + other / 8 * static_cast<float>(i % kDifferent);
  }
  return others;
}

const Misconception* same_in(const Mistakes& mistakes, const Misconception& known) {
  const auto found = std::find_if(
      mistakes.known.begin(), mistakes.known.end(),
      [&](const Misconception& m) { return m.words == known.words && m.tile == known.tile; });
  return found == mistakes.known.end() ? nullptr : &*found;
}

// The changes that a mistake makes in an output.
Values harm(const Part& part, const std::vector<double>& answer) {
  Values changes(answer.size());
  for (std::size_t i = 0; i < answer.size(); ++i)
    changes[i] = std::isfinite(answer[i]) ? answer[i] - (*part.truth)[i] : 0;
  return changes;
}

}  // namespace

bool disproved(const Misconception& known, const Placed& result, const Implementation& wrong,
               Arithmetic arithmetic) {
  const Problem& problem = result.problem();
  std::vector<Values> before;  // the changes, for outputs that the mistake explains
  for (const RealInput& input : problem.real_inputs()) {
    const std::vector<float>& values = input.values;
    const bool is_uniform =
        std::all_of(values.begin(), values.end(), [&](float x) { return x == values.front(); });
    if (values.size() < 2 || !is_uniform) continue;
    if (before.empty()) {
      result.examine(arithmetic, [&](const Examined& examined) {
        const Answer answer = known.answer();
        for (std::size_t n = 0; n < examined.parts.size(); ++n) {
          const Part& part = examined.parts[n];
          before.push_back(equals_answer(part, answer.at(n)) ? harm(part, answer[n]) : Values{});
        }
      });
    }
    bool agrees = true;
    try {
      const auto other = problem.with(input.array.name, varied(values));
      Device& where = device(wrong.device);
      const auto placed = other->place(where, wrong);
      placed->call();
      where.synchronize();
      placed->examine(arithmetic, [&](const Examined& examined) {
        const Misconception* const same = same_in(examined.mistakes, known);
        if (same == nullptr) return;
        const Answer answer = same->answer();
        for (std::size_t n = 0; n < examined.parts.size(); ++n) {
          const Part& part = examined.parts[n];
          if (before[n].empty()) continue;
          // If the mistake changes the same as before, it has nothing to do with this input.
          const Values after = harm(part, answer[n]);
          double moved = 0;
          for (std::size_t i = 0; i < after.size(); ++i)
            moved = std::max(moved, std::abs(after[i] - before[n][i]));
          const double most = std::max(largest(after), largest(before[n]));
          if (moved > kClose * most) agrees = agrees && equals_answer(part, answer.at(n));
        }
      });
    } catch (const std::exception&) {  // a kernel that rejects other values disproves nothing
    }
    if (!agrees) return true;
  }
  return false;
}

int diagnosis_seconds() {
  const char* const wanted = std::getenv("LADDER_DIAGNOSIS_SECONDS");
  return wanted == nullptr ? 20 : std::max(1, std::atoi(wanted));
}

std::string probed(const Problem& problem, const Implementation& wrong, Arithmetic arithmetic,
                   std::size_t output) {
  try {
    Probe probe(problem, wrong, arithmetic, output);
    const std::string words = probe.words();
    return words.empty() || probe.repeats() ? words : "";
  } catch (const std::exception&) {  // a kernel that rejects or spoils inputs is not probed
    return "";
  }
}

}  // namespace ladder
