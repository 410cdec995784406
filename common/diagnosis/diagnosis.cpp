#include "common/diagnosis/diagnosis.hpp"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <sstream>

#include "common/diagnosis/probe.hpp"

namespace ladder {
namespace {

// A factor with enough digits to differ from 1, such as "0.99986".
std::string factor_text(double factor) {
  for (int digits = 3;; ++digits) {
    std::ostringstream text;
    text.precision(digits);
    text << factor;
    if (text.str() != "1" || digits > 9) return text.str();
  }
}

// "Each element is 2 times what it should be" if one factor explains all elements within their
// limits, otherwise "". A factor within a right result's limits, which a few wrong elements can
// cause, does not count, nor one that leaves a wrong element.
std::string constant_factor(const Part& part) {
  double product = 0, square = 0;
  for (std::size_t i = 0; i < part.truth->size(); ++i) {
    product += (*part.result)[i] * (*part.truth)[i];
    square += (*part.truth)[i] * (*part.truth)[i];
  }
  const double factor = product / square;
  if (!std::isfinite(factor) || factor == 0) return "";
  const Judged judged = part.judged();
  if (factor >= judged.slope_least && factor <= judged.slope_most) return "";
  std::vector<double> scaled = *part.truth;
  for (double& x : scaled)
    x *= factor;
  for (const std::int64_t bad : judged.bad) {
    const double result = (*part.result)[bad];
    if (!(std::abs(result - scaled[bad]) <= std::abs(result - (*part.truth)[bad]) / 2)) return "";
  }
  if (!is_within_limits_of(scaled, part)) return "";
  return "Each element is " + factor_text(factor) + " times what it should be\n";
}

// "1 too small, each of 11 elements" if integers are off by one in one direction, else "".
std::string off_by_one(const Part& part) {
  constexpr std::size_t kFewest = 3;
  const std::vector<double>& truth = *part.truth;
  const auto is_whole = [](double x) { return std::isfinite(x) && x == std::rint(x); };
  std::size_t less = 0, more = 0;
  for (std::size_t i = 0; i < truth.size(); ++i) {
    const double off = (*part.result)[i] - truth[i];
    if (!is_whole(truth[i]) || (off != 0 && std::abs(off) != 1)) return "";
    less += off<0, more += off> 0;
  }
  if (less + more < kFewest || (less > 0 && more > 0)) return "";
  return "Each of the " + std::to_string(less + more) + " wrong elements is 1 too " +
         (less > 0
              ? "small: is a number rounded down that should be rounded to the nearest one, or "
                "is one too few counted?\n"
              : "large: is a number rounded up that should be rounded to the nearest one, or "
                "is one too many counted?\n");
}

// Slices with another's contents if that explains all: "column 2 holds what column 1 should".
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
      // Zeros are in many slices and do not show where they come from.
      bool shows = slice == of;
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

// Words of the first mistake whose answer `is_it` accepts and no run disproves, with all tiles that
// fit, such as "in chunks of 16 or 32".
template <typename IsIt>
std::string first_known(const std::vector<Misconception>& list, const ByRunning& by_running,
                        const IsIt& is_it) {
  for (auto first = list.begin(); first != list.end(); ++first) {
    if (!is_it(first->answer())) continue;
    if (by_running.disproves && by_running.disproves(*first)) continue;
    std::string words = first->words, tiles = std::to_string(first->tile);
    std::int64_t last = first->tile;
    for (auto next = first + 1; next != list.end() && next->words == words; ++next) {
      if (next->tile == last || !is_it(next->answer())) continue;
      last = next->tile;
      tiles += " or " + std::to_string(last);
    }
    const auto at = words.find('*');
    if (at != std::string::npos) words.replace(at, 1, tiles);
    return words + "\n";
  }
  return "";
}

std::string known_mistake(const Examined& wrong, std::size_t n, const ByRunning& by_running) {
  const std::vector<Part>& parts = wrong.parts;
  const auto all = [&](const Answer& answer) {
    for (std::size_t i = 0; i < parts.size(); ++i) {
      if (!equals_answer(parts[i], answer.at(i))) return false;
    }
    return true;
  };
  std::string words;
  if (wrong.mistakes.together) words = first_known(wrong.mistakes.known, by_running, all);
  if (!words.empty()) return words;
  return first_known(wrong.mistakes.known, by_running,
                     [&](const Answer& answer) { return equals_answer(parts[n], answer.at(n)); });
}

// Words for a mistake that the operator knows.
std::string mistake(const Examined& wrong, const ByRunning& by_running) {
  const Mistakes& mistakes = wrong.mistakes;
  const auto own = [&] { return mistakes.own ? mistakes.own(wrong.parts) : std::string(); };
  if (mistakes.known.empty()) return own();
  // If storage hides a mistake in one output, another output may show it.
  std::size_t n = wrong.wrong;
  for (std::size_t i = 0;
       i < wrong.parts.size() && equals_answer(wrong.parts[n], *wrong.parts[n].truth); ++i) {
    if (!wrong.parts[i].truth->empty()) n = i;
  }
  const Part& part = wrong.parts[n];
  if (equals_answer(part, *part.truth)) return "";
  std::string words = known_mistake(wrong, n, by_running);
  if (words.empty() && n == 0) words = own();
  return words.empty() && n == 0 ? constant_factor(part) : words;
}

// Words for a number that is too large for any formula here.
std::string huge(const Part& part) {
  constexpr float kHuge = 1e30f;
  const auto is_huge = [](float x) { return std::isfinite(x) && std::abs(x) > kHuge; };
  const auto found = std::find_if(part.result->begin(), part.result->end(), is_huge);
  const bool expected = std::any_of(part.truth->begin(), part.truth->end(),
                                    [](double x) { return std::abs(x) > kHuge / 1e10; });
  if (found == part.result->end() || expected) return "";
  return "Some elements are huge, such as " + short_number(*found) +
         ". Is a variable read before it is given a value (./ladder exercise puts -1.7e38 into "
         "each that has none), or an array beyond its end?\n";
}

// Words for elements that belong in other slices.
std::string seen(const Part& part) {
  std::string text = misplaced(part.layout, *part.result, *part.truth);
  const bool is_index = text.find('=') < text.find(' ');  // "n=2 holds": N would be a size
  if (!text.empty() && !is_index) text[0] = static_cast<char>(std::toupper(text[0]));
  return text;
}

// As a sentence, such as "It equals the result with the bonus forgotten."
std::string sentence(std::string words) {
  if (words.starts_with("equals ")) words = "It " + words;
  while (!words.empty() && words.back() == '\n')
    words.pop_back();
  return words.empty() ? ""
                       : words + (std::ispunct(words.back()) && words.back() != ')' ? "\n" : ".\n");
}

}  // namespace

std::string diagnosis(const Examined& wrong, const ByRunning& by_running) {
  if (wrong.wrong == wrong.parts.size()) return "";
  const Mistakes& mistakes = wrong.mistakes;
  if (mistakes.work > mistakes.most_work)
    return "This case is too large to look for the name of the mistake.\n";
  std::string words = mistake(wrong, by_running);
  if (words.empty()) words = huge(wrong.parts[wrong.wrong]);
  if (words.empty()) words = off_by_one(wrong.parts[wrong.wrong]);
  if (words.empty() && by_running.words) words = by_running.words(wrong.wrong);
  return sentence(words.empty() ? seen(wrong.parts[wrong.wrong]) : words);
}

std::string diagnosis(const Placed& result, const Implementation* implementation,
                      Arithmetic arithmetic, const Excluded& excluded) {
  ByRunning by_running;
  if (implementation != nullptr) {
    by_running.words = [&](std::size_t output) {
      return probed(result.problem(), *implementation, arithmetic, output);
    };
    by_running.disproves = [&](const Misconception& known) {
      return disproved(known, result, *implementation, arithmetic);
    };
  }
  std::string name;
  result.examine(arithmetic, [&](Examined wrong) {
    std::erase_if(wrong.mistakes.known, [&](const Misconception& known) {
      return std::find(excluded.begin(), excluded.end(), known.words) != excluded.end();
    });
    name = diagnosis(wrong, by_running);
  });
  return name;
}

std::string explained(const Verdict& verdict, const Placed& result,
                      const Implementation* implementation, Arithmetic arithmetic,
                      const Excluded& excluded) {
  if (verdict.name_at == std::string::npos) return verdict.message;
  return verdict.named(diagnosis(result, implementation, arithmetic, excluded));
}

std::string explained(const Verdict& verdict, const Examine& examine) {
  if (verdict.name_at == std::string::npos) return verdict.message;
  std::string name;
  examine([&](const Examined& wrong) { name = diagnosis(wrong); });
  return verdict.named(name);
}

}  // namespace ladder
