// How an operator writes down its variants (common/judge/variants.hpp).
#pragma once

#include <functional>
#include <string>
#include <type_traits>
#include <vector>

#include "common/judge/variants.hpp"

namespace ladder {

template <typename Switches>
struct VariantList {
  Variants<Switches> list = {};

  void add(const std::string& words, const std::string& line,
           const std::function<void(Switches&)>& change) {
    list.push_back({words, line, change});
  }
  // One switch has another value.
  template <typename Value>
  void add(const std::string& words, const std::string& line, Value Switches::*which,
           std::type_identity_t<Value> value) {
    add(words, line, [=](Switches& s) { s.*which = value; });
  }
  // Some elements of an array are taken for others.
  void add(const std::vector<TakenChange>& changes, Taken Switches::*array) {
    for (const TakenChange& one : changes)
      add(one.words, one.line, [=](Switches& s) { one.change(s.*array); });
  }
};

}  // namespace ladder
