// Recognises wrong answers that read past the end of an array.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

#include "common/judge/judging.hpp"

namespace warmup {

// True if an output equals a wrong answer wherever that is a number. The answer is NaN where it
// uses memory past an array, which may hold anything. At most half of it may be NaN.
inline bool equals_where_known(const ladder::Part& output, std::vector<double> wrong) {
  const auto unknown =
      std::count_if(wrong.begin(), wrong.end(), [](double x) { return std::isnan(x); });
  if (2 * static_cast<std::size_t>(unknown) > wrong.size()) return false;
  for (std::size_t i = 0; i < wrong.size(); ++i) {
    if (std::isnan(wrong[i])) wrong[i] = (*output.result)[i];
  }
  return output.equals(wrong);
}

}  // namespace warmup
