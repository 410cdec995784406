#include "common/judge/reach.hpp"

#include <algorithm>

namespace ladder {

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
