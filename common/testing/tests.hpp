// What the suites of all operators are made of.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <sstream>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "common/core/lists.hpp"
#include "common/core/on_device.hpp"
#include "common/core/options.hpp"
#include "common/core/registry.hpp"
#include "common/core/shape.hpp"
#include "common/core/verdict.hpp"
#include "common/testing/pairwise.hpp"

namespace ladder::testing {

// Whether the environment has it as 1.
bool is_set(const char* variable);

// For a chapter's own tests: skips (or, with LADDER_REQUIRE_GPU=1, fails) where the device is missing. Returns true
// if the test must not go on.
bool device_is_missing(const Implementation& implementation);

// Skips the running test in plain sight: the reason is printed, and noted for the summary of a test run. The caller returns.
void skip(const std::string& why);

// A test made at run time: finds its implementation, and runs `body` under each schedule of its device; with `turn` only under
// one, so that tests with successive turns share the schedules among them. Where the body throws NotOnThisDevice, the test is
// skipped.
using Body = std::function<void(const Implementation&)>;
void add(const std::string& implementation, const std::string& test, Body body,
         std::optional<std::size_t> turn = std::nullopt);

// LADDER_CASES=N:SEED, if the environment has it. Ends the program with a sentence where it is malformed.
std::optional<Draw> wanted_draw();

// What a suite's cases are made of: factors with their levels, and pairs of levels that cannot be, with the reason. A factor can
// be read back from a finished case, so that what a suite promises can be checked after all its changes to the cases.
template <typename Case>
class Design {
 public:
  template <typename Value, typename Set, typename Get>
  void factor(std::string name, const std::vector<Value>& levels, Set set, Get get) {
    Factor result;
    result.name = std::move(name);
    for (const Value& level : levels)
      result.words.push_back(word(level));
    result.set = [=](Case& c, std::size_t level) { set(c, levels[level]); };
    result.word_of = [=](const Case& c) { return word(Value(get(c))); };
    factors_.push_back(std::move(result));
  }
  template <typename Value>
  void factor(std::string name, const std::vector<Value>& levels, Value Case::*member) {
    factor(
        std::move(name), levels, [=](Case& c, const Value& level) { c.*member = level; },
        [=](const Case& c) { return c.*member; });
  }

  // `why` is for the reader of the code. Nothing where the design lacks one of the levels.
  template <typename Value, typename Other>
  void exclude(const std::string& name, const Value& level, const std::string& other_name,
               const Other& other_level, [[maybe_unused]] const char* why) {
    const auto [f, a] = find(name, word(level));
    const auto [g, b] = find(other_name, word(other_level));
    if (f < factors_.size() && g < factors_.size()) excluded_.push_back({f, a, g, b});
  }

  // `first`, then pairwise cases, or drawn ones; `finish` sets what follows from the levels. Two rows may differ only in options
  // that the case does not have; one case is enough then.
  std::vector<Case> cases(const Case& first, const std::function<void(Case&)>& finish,
                          const std::optional<Draw>& draw) const {
    std::vector<std::size_t> counts;
    for (const Factor& f : factors_)
      counts.push_back(f.words.size());
    std::vector<Case> result;
    std::set<std::string> names;
    const auto add_case = [&](Case c) {
      c.seed = static_cast<std::uint32_t>(result.size() + 1);
      if (names.insert(name_of(c)).second) result.push_back(std::move(c));
    };
    add_case(first);
    for (const Row& row :
         draw ? drawn_rows(counts, *draw, excluded_) : pairwise_rows(counts, excluded_)) {
      Case c = first;
      for (std::size_t f = 0; f < factors_.size(); ++f)
        factors_[f].set(c, row[f]);
      finish(c);
      add_case(std::move(c));
    }
    return result;
  }

  // What each case is made of: "T=130".
  std::vector<std::vector<std::string>> levels_of(const std::vector<Case>& cases) const {
    std::vector<std::vector<std::string>> result(cases.size());
    for (std::size_t n = 0; n < cases.size(); ++n) {
      for (const Factor& f : factors_)
        result[n].push_back(f.name + "=" + f.word_of(cases[n]));
    }
    return result;
  }

  // Pairs of levels that are not excluded and that no case has: "T=130 with K=64".
  std::vector<std::string> missing_pairs(const std::vector<Case>& cases) const {
    std::set<std::string> held;
    for (const Case& c : cases) {
      for (const Factor& f : factors_) {
        for (const Factor& g : factors_)
          held.insert(pair_word(f, f.word_of(c), g, g.word_of(c)));
      }
    }
    for (const LevelPair& p : excluded_) {
      const Factor &f = factors_[p.factor], &g = factors_[p.other_factor];
      held.insert(pair_word(f, f.words[p.level], g, g.words[p.other_level]));
      held.insert(pair_word(g, g.words[p.other_level], f, f.words[p.level]));
    }
    std::vector<std::string> missing;
    for (std::size_t f = 0; f < factors_.size(); ++f) {
      for (std::size_t g = f + 1; g < factors_.size(); ++g) {
        for (const std::string& a : factors_[f].words) {
          for (const std::string& b : factors_[g].words) {
            const std::string pair = pair_word(factors_[f], a, factors_[g], b);
            if (held.count(pair) == 0) missing.push_back(pair);
          }
        }
      }
    }
    return missing;
  }

 private:
  struct Factor {
    std::string name;
    std::vector<std::string> words;  // of its levels
    std::function<void(Case&, std::size_t)> set;
    std::function<std::string(const Case&)> word_of;
  };

  template <typename Value>
  static std::string word(const Value& value) {
    std::ostringstream text;
    if constexpr (std::is_enum_v<Value>) {
      text << static_cast<int>(value);
    } else if constexpr (std::is_arithmetic_v<Value>) {
      text << value;
    } else {
      text << value.first << "x" << value.second;
    }
    return text.str();
  }
  static std::string pair_word(const Factor& f, const std::string& a, const Factor& g,
                               const std::string& b) {
    return f.name + "=" + a + " with " + g.name + "=" + b;
  }
  std::pair<std::size_t, std::size_t> find(const std::string& name,
                                           const std::string& level) const {
    for (std::size_t f = 0; f < factors_.size(); ++f) {
      const auto& words = factors_[f].words;
      const auto at = std::find(words.begin(), words.end(), level);
      if (factors_[f].name == name && at != words.end())
        return {f, static_cast<std::size_t>(at - words.begin())};
    }
    return {factors_.size(), 0};
  }

  std::vector<Factor> factors_;
  std::vector<LevelPair> excluded_;
};

// A test for each of the cases, each under one of its device's schedules, and one that says which levels of the design never come
// together: `expect(implementation, case)`.
template <typename Case, typename Expect>
void add_cases(const std::string& implementation, const std::string& prefix,
               const Design<Case>& design, const std::vector<Case>& cases, const Expect& expect) {
  const auto levels = design.levels_of(cases);
  const auto schedules = schedules_of(levels);
  for (std::size_t n = 0; n < cases.size(); ++n) {
    add(
        implementation, prefix + "MatchesReference/" + name_of(cases[n]),
        [=, c = cases[n]](const Implementation& i) { expect(i, c); }, schedules[n]);
  }
  if (wanted_draw()) return;  // a draw promises no pairs
  add(
      implementation, prefix + "CasesHoldEveryPair",
      [=](const Implementation&) {
        EXPECT_EQ(design.missing_pairs(cases), std::vector<std::string>{});
        EXPECT_EQ(missing_schedules(levels, schedules), std::vector<std::string>{});
      },
      0);
}

// One bad change to good arguments, and the name its refusal must hold.
template <typename Args>
struct BadInput {
  std::string argument;
  std::function<void(Args&)> spoil;
};

template <typename Pointer>
void misalign(Pointer& pointer) {
  pointer = reinterpret_cast<Pointer>(reinterpret_cast<std::uintptr_t>(pointer) + 1);
}

// `call` must throw a sentence that names the argument and says what is allowed.
void expect_refused(const std::string& argument, const std::function<void()>& call);

template <typename Args, typename Launch>
void expect_refused(const std::vector<BadInput<Args>>& bad_inputs, const Args& good,
                    const Launch& launch) {
  for (const BadInput<Args>& bad : bad_inputs) {
    Args args = good;
    bad.spoil(args);
    expect_refused(bad.argument, [&] { launch(args); });
  }
}

// The launcher refuses every bad input that the arguments' lists tell, and `more<Args>()`, a list of BadInput; nothing is written.
template <typename Op, typename More>
void expect_bad_input_refused(const Implementation& i, const typename Op::Problem& problem,
                              const More& more) {
  with_storage<Op>(storage_of(Op::case_of(problem)), [&]<typename Args>() {
    const auto launch = launcher<Op, Args>(i);
    ASSERT_NE(launch, nullptr);
    const OnDevice<Op, Args> on_device(device(i.device), problem);
    for_each_bad_input<Args>(on_device.args(), [&](const std::string& argument, const Args& bad) {
      expect_refused(argument, [&] { launch(bad); });
    });
    expect_refused(more.template operator()<Args>(), on_device.args(), launch);
    EXPECT_TRUE(on_device.is_untouched()) << "something was written";
  });
}

// A verdict as an assertion: EXPECT_TRUE(is_right(verdict)).
inline ::testing::AssertionResult is_right(const Verdict& verdict) {
  return verdict.right ? ::testing::AssertionSuccess()
                       : ::testing::AssertionFailure() << verdict.message;
}

// The plain case of each implementation that has one.
template <typename Op>
std::map<std::string, typename Op::Case>& plain_cases() {
  static std::map<std::string, typename Op::Case> cases;
  return cases;
}

template <typename Op>
Verdict judged(const Implementation& i, const typename Op::Problem& problem) {
  return Op::judge(problem, run_as<Op>(i, problem),
                   arithmetic_of(i, storage_of(Op::case_of(problem))));
}

// "reverse", "scale=0.125"
inline std::string words_of(const std::string& option, const std::string& value) {
  return value == "true" ? option : value == "false" ? "not " + option : option + "=" + value;
}

// The options, and the storage, that make the plain case wrong, each alone: "reverse, stored in bf16"; what cannot be run is none.
template <typename Op>
std::string guilty_options(const Implementation& i, const typename Op::Case& c,
                           const typename Op::Case& plain) {
  std::string text;
  const auto try_one = [&](const std::string& words, const typename Op::Case& changed) {
    try {
      if (judged<Op>(i, Op::make_problem(changed)).right) return;
      text += (text.empty() ? "" : ", ") + words;
    } catch (const std::exception&) {
    }
  };
  for (const auto& [option, value] : options_of(c, plain)) {
    typename Op::Case changed = plain;
    set_options(changed, {{option, value}}, Op::kName);
    try_one(words_of(option, value), changed);
  }
  typename Op::Case changed = plain;
  changed.precision = c.precision;
  try_one("stored in " + storage_of(c), changed);
  return text;
}

// All in which one case differs from another: "K=4, reverse". Only the sizes, if they are enough to make it wrong.
template <typename Op>
std::string differences(const Implementation& i, const typename Op::Case& c,
                        const typename Op::Case& plain) {
  std::string text;
  const auto add_words = [&](const std::string& words) {
    text += (text.empty() ? "" : ", ") + words;
  };
  const Shape shape = shape_of(Op::sizes(c)), of_plain = shape_of(Op::sizes(plain));
  for (const Size& size : shape.sizes()) {
    if (size.value != of_plain[size.name]) add_words(size.name + "=" + std::to_string(size.value));
  }
  typename Op::Case sized = c;
  set_options(sized, options_of(plain, c), Op::kName);
  sized.precision = plain.precision;
  try {
    if (!text.empty() && !judged<Op>(i, Op::make_problem(sized)).right) return text;
  } catch (const std::exception&) {
  }
  for (const auto& [option, value] : options_of(c, plain)) {
    if (option != "seed") add_words(words_of(option, value));
  }
  if (storage_of(c) != storage_of(plain)) add_words("stored in " + storage_of(c));
  return text;
}

// Where the implementation has a plain case and is right there: what a case has that makes it wrong. "" otherwise.
template <typename Op>
std::string beyond_the_plain_case(const Implementation& i, const typename Op::Case& c) {
  const auto plain = plain_cases<Op>().find(i.name);
  if (plain == plain_cases<Op>().end() || !judged<Op>(i, Op::make_problem(plain->second)).right)
    return "";
  const std::string guilty = guilty_options<Op>(i, c, plain->second);
  return "right on the plain case; wrong with " +
         (guilty.empty() ? differences<Op>(i, c, plain->second) : guilty) + "\n";
}

// Judged by the arithmetic that the implementation is registered with.
template <typename Op>
void expect_right(const Implementation& i, const typename Op::Problem& problem) {
  const auto& c = Op::case_of(problem);
  Verdict verdict = judged<Op>(i, problem);
  if (!verdict.right) verdict.message += beyond_the_plain_case<Op>(i, c);
  EXPECT_TRUE(is_right(verdict)) << name_of(c);
}

// The arrays that a launcher gets in that case.
template <typename Op>
std::vector<std::string> arrays_of(const typename Op::Case& c) {
  std::vector<std::string> names;
  const auto sizes = Op::sizes(c);
  std::remove_cvref_t<decltype(sizes)>::arrays(
      sizes, [&](const char* name, const auto&, const Axes& axes, auto...) {
        if (wants<Op>(c, name) && count(axes) > 0) names.push_back(name);
      });
  return names;
}

// With each of the arrays in turn one element off: what `work` does is right, or refused with a sentence that names the array.
void expect_right_or_refused_when_shifted(const std::vector<std::string>& arrays,
                                          const std::function<void()>& work);

// Which elements of an array something that is no number may have reached, and which it must have reached.
enum class Reach { kMustNot, kMay, kMust };

// Elements that must not be reached are as in `clean`, or finite where the implementation is not repeatable; those that must be
// are not finite.
void expect_reach(const char* array, const std::vector<float>& clean,
                  const std::vector<float>& spoilt, bool repeatable,
                  const std::function<Reach(std::int64_t)>& reach);

}  // namespace ladder::testing
