#include "common/diagnosis/diagnosis.hpp"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <sstream>

#include "common/diagnosis/shares.hpp"

namespace ladder {
namespace {

bool equals(const Part& part, const std::vector<double>& answer) {
  return equals_answer(*part.result, answer, part.layout.row(), part.coarseness());
}

// "2", "0.99986": a factor, with as many digits as show that it is not 1.
std::string factor_text(double factor) {
  for (int digits = 3;; ++digits) {
    std::ostringstream text;
    text.precision(digits);
    text << factor;
    if (text.str() != "1" || digits > 9) return text.str();
  }
}

// "Each element is 2 times what it should be", where one factor explains all of them, to within their limits; "" otherwise.
std::string constant_factor(const Part& part) {
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
  if (!is_within_limits_of(scaled, part)) return "";
  return "Each element is " + factor_text(factor) + " times what it should be\n";
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
      // Zeros are found in many places: they say nothing about where they come from.
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

// The words of the first one whose answer `is_it` accepts, with all of its tiles that fit: "in chunks of 16 or 32".
template <typename IsIt>
std::string first_known(const std::vector<Misconception>& list, const IsIt& is_it) {
  for (auto first = list.begin(); first != list.end(); ++first) {
    if (!is_it(first->answer())) continue;
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

std::string known_mistake(const Examined& wrong, std::size_t n) {
  const std::vector<Part>& parts = wrong.parts;
  const auto all = [&](const Answer& answer) {
    for (std::size_t i = 0; i < parts.size(); ++i) {
      if (!equals(parts[i], answer.at(i))) return false;
    }
    return true;
  };
  std::string words;
  if (wrong.mistakes.together) words = first_known(wrong.mistakes.known, all);
  if (!words.empty()) return words;
  return first_known(wrong.mistakes.known,
                     [&](const Answer& answer) { return equals(parts[n], answer.at(n)); });
}

// "equals the result with ..., and with ...": the first two variants whose answer the result equals.
std::string two_variants(const Part& part, const VariantsOfLoop& variants, std::size_t output) {
  // A quick look may be deceived.
  constexpr double kDeceived = 1e-3;
  const std::vector<std::int64_t>& sizes = part.layout.sizes;
  const auto looked_at = [&](const std::vector<double>& o) {
    return quick_look(o, sizes[1], sizes[2], sizes[3]);
  };
  std::vector<float> quick;
  if (variants.quick) {
    const std::vector<double> rows = looked_at({part.result->begin(), part.result->end()});
    quick.assign(rows.begin(), rows.end());
  }
  const auto seems = [&](const std::vector<std::size_t>& changes) {
    if (!variants.quick) return true;
    const std::vector<double> answer = looked_at(variants.answer(changes, Look::kQuick).at(output));
    const bool written =
        std::any_of(answer.begin(), answer.end(), [](double x) { return std::isfinite(x); });
    return !written || roughly_equal(quick, answer, sizes[3], part.coarseness() + kDeceived);
  };
  for (std::size_t first = 0; first < variants.words.size(); ++first) {
    for (std::size_t second = first + 1; second < variants.words.size(); ++second) {
      const std::vector<std::size_t> changes = {first, second};
      if (seems(changes) && equals(part, variants.answer(changes, Look::kThorough).at(output)))
        return variants.equals + variants.words[first] + ", and " + variants.words[second] + "\n";
    }
  }
  return "";
}

std::string wrong_shares(const Part& part, const Mistakes& mistakes) {
  const SumOfValues& values = *mistakes.values;
  const ShareSolver solver(values.v, values.T_q, values.H_q, part.coarseness());
  std::vector<KnownShares> known(values.known.begin(), values.known.end());
  for (std::size_t n = 0; n < mistakes.variants.words.size(); ++n) {
    known.emplace_back(mistakes.variants.words[n], [&solver, &mistakes, n] {
      return solver.shares(mistakes.variants.answer({n}, Look::kThorough).front());
    });
  }
  return explain_shares(solver, part, known, values.query, values.key);
}

// The words for a first output that no one mistake gives.
std::string taken_apart(const Part& part, const Mistakes& mistakes, Search search) {
  const auto rows = [&]() -> std::string {
    if (!mistakes.rows) return "";
    const std::vector<PartOfRows> parts = mistakes.rows();
    return parts.empty() ? "" : explain_rows(part, parts, mistakes.scale);
  };
  if (const std::string own = mistakes.own ? mistakes.own(part) : ""; !own.empty()) {
    const std::string words = mistakes.rows_know ? rows() : "";
    return words.empty() ? own : words;
  }
  std::string words = mistakes.variants.words.empty() ? "" : constant_factor(part);
  if (words.empty() && mistakes.values) words = wrong_shares(part, mistakes);
  if (words.empty() && search == Search::kTwo) words = two_variants(part, mistakes.variants, 0);
  return words.empty() ? rows() : words;
}

std::string mistake(const Examined& wrong, Search search) {
  const Mistakes& mistakes = wrong.mistakes;
  if (mistakes.work > mistakes.most_work)
    return "no misconception is looked for in a case as large as this\n";
  if (mistakes.known.empty()) return mistakes.own ? mistakes.own(wrong.parts[wrong.wrong]) : "";
  // Where storage hides a mistake in one output, another one may show it.
  std::size_t n = wrong.wrong;
  for (std::size_t i = 0; i < wrong.parts.size() && equals(wrong.parts[n], *wrong.parts[n].truth);
       ++i) {
    if (!wrong.parts[i].truth->empty()) n = i;
  }
  const Part& part = wrong.parts[n];
  if (equals(part, *part.truth)) return "";
  const std::string words = known_mistake(wrong, n);
  if (!words.empty()) return words;
  if (n == 0 && !mistakes.together) return taken_apart(part, mistakes, search);
  return mistakes.together && search == Search::kTwo ? two_variants(part, mistakes.variants, n)
                                                     : "";
}

// What can be seen in the numbers.
std::string seen(const Part& part) {
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

// As a sentence: "It equals the result with the bonus forgotten."
std::string sentence(std::string words) {
  if (words.starts_with("equals ")) words = "It " + words;
  while (!words.empty() && words.back() == '\n')
    words.pop_back();
  return words.empty() ? ""
                       : words + (std::ispunct(words.back()) && words.back() != ')' ? "\n" : ".\n");
}

}  // namespace

std::string diagnosis(const Examined& wrong, Search search) {
  if (wrong.wrong == wrong.parts.size()) return "";
  const std::string known = mistake(wrong, search);
  return sentence(known.empty() ? seen(wrong.parts[wrong.wrong]) : known);
}

std::string explained(const Verdict& verdict, const Examine& examine, Search search) {
  if (verdict.name_at == std::string::npos) return verdict.message;
  std::string name;
  examine([&](const Examined& wrong) { name = diagnosis(wrong, search); });
  return verdict.named(name);
}

std::string explained(const Verdict& verdict, const AnyOnDevice& result, Arithmetic arithmetic,
                      Search search) {
  return explained(
      verdict, [&](const auto& use) { result.examine(arithmetic, use); }, search);
}

}  // namespace ladder
