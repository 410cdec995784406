// The cases of an operator's tests, by factors and their levels.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <sstream>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "common/judge/pairwise.hpp"

namespace ladder {

// A suite's cases are combined from factors with levels. Excluded pairs of levels have a reason. A
// factor's level can be read back from a finished case, to check what the suite promises.
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

  // `why` is for readers of the code. Does nothing if the design lacks one of the levels.
  template <typename Value, typename Other>
  void exclude(const std::string& name, const Value& level, const std::string& other_name,
               const Other& other_level, [[maybe_unused]] const char* why) {
    const auto [f, a] = find(name, word(level));
    const auto [g, b] = find(other_name, word(other_level));
    if (f < factors_.size() && g < factors_.size()) excluded_.push_back({f, a, g, b});
  }

  // `first`, then pairwise or drawn cases. `finish` derives the rest of a case from its levels.
  // Rows that give the same case give one. `also` adds cases that are not among these.
  std::vector<Case> cases(const Case& first, const std::function<void(Case&)>& finish,
                          const std::optional<Draw>& draw,
                          const std::vector<Case>& also = {}) const {
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
    for (const LevelRow& row :
         draw ? drawn_rows(counts, *draw, excluded_) : pairwise_rows(counts, excluded_)) {
      Case c = first;
      for (std::size_t f = 0; f < factors_.size(); ++f)
        factors_[f].set(c, row[f]);
      finish(c);
      add_case(std::move(c));
    }
    for (const Case& c : also) {
      if (names.insert(name_of(c)).second) result.push_back(c);
    }
    return result;
  }

  // The levels of each case, such as "T=130".
  std::vector<std::vector<std::string>> levels_of(const std::vector<Case>& cases) const {
    std::vector<std::vector<std::string>> result(cases.size());
    for (std::size_t n = 0; n < cases.size(); ++n) {
      for (const Factor& f : factors_)
        result[n].push_back(f.name + "=" + f.word_of(cases[n]));
    }
    return result;
  }

  // Pairs of levels that are neither excluded nor in any case, such as "T=130 with K=64".
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
}  // namespace ladder
