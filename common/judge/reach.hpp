// What something in an input that is no number (NaN, infinity) reaches, for operators on batches, steps and heads.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <type_traits>
#include <vector>

#include "common/judge/simple_operator.hpp"

namespace ladder {

// The place of an output's element: -1 for an axis that the output does not have. A packed sequence is a batch here.
struct ElementPlace {
  const std::string& output;
  std::int64_t b = -1, h = -1;
  std::int64_t row = -1;  // of the B * T steps
};

inline bool repeats(const Support& support, const std::string& output) {
  return support.repeatable &&
         std::count(support.not_repeatable.begin(), support.not_repeatable.end(), output) == 0;
}

// Reports elements that were wrongly reached, or not reached: `reach(place)` is what must hold of each. `clean` is what the implementation
// has made of the problem without that number.
template <typename Op, typename ReachOf>
void expect_reach(Report& report, const typename Op::Case& c, const typename Op::Outputs& clean,
                  const typename Op::Outputs& spoilt, const Support& support,
                  const ReachOf& reach) {
  const auto values_of = [](const auto& outputs, const std::string& name) {
    if constexpr (std::is_same_v<typename Op::Outputs, std::vector<float>>) {
      return outputs;
    } else {
      std::vector<float> found;
      Op::Outputs::arrays(outputs, [&](const char* other, const std::vector<float>& values) {
        if (name == other) found = values;
      });
      return found;
    }
  };
  for_each_output<Op>(c, [&](const std::string& name, const Axes& axes) {
    const auto reach_of = [&](std::int64_t element) {
      ElementPlace at{name};
      std::int64_t t = -1, steps = 0, below = static_cast<std::int64_t>(count(axes));
      for (const Axis& axis : axes) {
        below /= axis.size;
        const std::string axis_name = axis.name;
        const std::int64_t index = element / below % axis.size;
        if (axis_name == "b" || axis_name == "sequence") at.b = index;
        if (axis_name == "h") at.h = index;
        if (axis_name == "t") t = index, steps = axis.size;
      }
      if (t >= 0) at.row = at.b * steps + t;
      return reach(at);
    };
    report.expect(wrong_reach(name.c_str(), values_of(clean, name), values_of(spoilt, name),
                              repeats(support, name), reach_of));
  });
}

}  // namespace ladder
