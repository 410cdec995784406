// How an operator writes down its variants (common/judge/variants.hpp).
#pragma once

#include <functional>
#include <string>
#include <type_traits>
#include <vector>

#include "common/judge/variants.hpp"

namespace ladder {

// What is taken of an array: the first of them all; or the lane that the other axis has.
inline void of_batch_0(Taken& t) {
  t.batch = Taken::Of::kFirst;
}
inline void of_step_0(Taken& t) {
  t.step = Taken::Of::kFirst;
}
inline void of_head_0(Taken& t) {
  t.head = Taken::Of::kFirst;
}
inline void of_the_other_axis(Taken& t) {
  t.crossed = true;
}

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
  // Other elements of some arrays are taken.
  void add(const std::string& words, const std::string& line,
           const std::vector<Taken Switches::*>& arrays, void (*change)(Taken&)) {
    add(words, line, [=](Switches& s) {
      for (Taken Switches::*array : arrays)
        change(s.*array);
    });
  }
  void add(const std::vector<TakenChange>& changes, Taken Switches::*array) {
    for (const TakenChange& one : changes)
      add(one.words, one.line, [=](Switches& s) { one.change(s.*array); });
  }
};

}  // namespace ladder
