#include "common/judge/reach.hpp"

#include <algorithm>
#include <cmath>

namespace ladder {

std::string wrong_reach(const char* array, const std::vector<float>& clean,
                        const std::vector<float>& spoilt, bool repeatable,
                        const std::function<Reach(std::int64_t)>& reach) {
  const std::string name = array;
  if (clean.size() != spoilt.size()) return name + " has another size";
  for (std::size_t i = 0; i < clean.size(); ++i) {
    const Reach expected = reach(static_cast<std::int64_t>(i));
    const bool untouched = repeatable ? clean[i] == spoilt[i] : std::isfinite(spoilt[i]);
    const bool right = expected == Reach::kMay ||
                       (expected == Reach::kMust ? !std::isfinite(spoilt[i]) : untouched);
    if (right) continue;
    const std::string element = "element " + std::to_string(i) + " of " + name + " (of " +
                                std::to_string(clean.size()) + ") is " + std::to_string(spoilt[i]);
    if (expected == Reach::kMustNot && !std::isfinite(clean[i]))
      return "WRONG RESULT: " + element + ", and " + std::to_string(clean[i]) +
             " where all inputs are finite, too";
    return "WRONG RESULT: an input is NaN or infinite in some places. " +
           (expected == Reach::kMust
                ? "What is made of them must not be finite, but " + element +
                      ". Is a NaN skipped, or taken for nothing?"
                : "What is not made of them must be as without them, but " + element + ", and " +
                      std::to_string(clean[i]) + " where all inputs are finite.");
  }
  return "";
}

bool repeats(const Support& support, const std::string& output) {
  return support.repeatable &&
         std::count(support.not_repeatable.begin(), support.not_repeatable.end(), output) == 0;
}

ElementPlace place_of(const ListedArray& output, std::int64_t element) {
  ElementPlace place{output.name};
  std::int64_t t = -1, steps = 0, below = static_cast<std::int64_t>(output.elements());
  for (const Axis& axis : output.axes) {
    below /= axis.size;
    const std::string name = axis.name;
    const std::int64_t index = element / below % axis.size;
    if (name == "b" || name == "sequence") place.b = index;
    if (name == "h") place.h = index;
    if (name == "t") t = index, steps = axis.size;
  }
  if (t >= 0) place.row = place.b * steps + t;
  return place;
}

}  // namespace ladder
