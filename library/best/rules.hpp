// Chooses the fastest kernel for a shape. These are pure functions that launch nothing. README.md
// explains the table of costs that they compare.
#pragma once

#include <array>
#include <cstddef>

#include "library/best/kernels.hpp"
#include "library/best/shapes.hpp"

namespace ladder::best {

// The choice and its reason.
struct Choice {
  struct Time {
    Kernel kernel = {};
    double microseconds = 0;
  };
  Kernel kernel = {};
  const char* rule = "";              // in words
  std::array<Time, 5> compared = {};  // by the table of costs; none if a rule alone decides
  std::size_t times = 0;
};
Choice explain(const RecurrenceShape& shape, const Card& card = kH200);
Choice explain(const LinearAttentionShape& shape, const Card& card = kH200);
Choice explain(const AttentionShape& shape);

template <typename Shape, typename... Cards>
Kernel choose(const Shape& shape, const Cards&... card) {
  return explain(shape, card...).kernel;
}

}  // namespace ladder::best
