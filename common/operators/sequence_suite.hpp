// What the suites of WKV and of linear attention share.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "common/testing/tests.hpp"

namespace ladder::testing {

// Long sequences get fewer heads, so that no case takes the emulator more than about a second.
inline std::pair<std::int64_t, std::int64_t> batch_and_heads(std::int64_t T) {
  if (T < 100) return {2, 3};
  return {1, T < 1000 ? 2 : 1};
}

// Rows of so few elements that they may all cancel.
inline constexpr std::int64_t kNarrow[] = {1, 2, 3, 4};

inline constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

// That size, or the last where it is none of them.
inline std::int64_t preferred(const std::vector<std::int64_t>& sizes, std::int64_t size) {
  return std::count(sizes.begin(), sizes.end(), size) > 0 ? size : sizes.back();
}

// The smallest that is at least `least`, or the largest where none is.
inline std::int64_t from(std::int64_t least, std::vector<std::int64_t> sizes) {
  std::sort(sizes.begin(), sizes.end());
  const auto found = std::lower_bound(sizes.begin(), sizes.end(), least);
  return found == sizes.end() ? sizes.back() : *found;
}

// K and V of a plain case: from 32 on, V at least `steps`, and alike where both can be.
inline std::pair<std::int64_t, std::int64_t> plain_sizes(const std::vector<std::int64_t>& K_sizes,
                                                         const std::vector<std::int64_t>& V_sizes,
                                                         std::int64_t steps) {
  const std::int64_t least = std::max<std::int64_t>(32, steps);
  std::vector<std::int64_t> both;
  for (const std::int64_t size : K_sizes) {
    if (size >= least && std::count(V_sizes.begin(), V_sizes.end(), size) > 0) both.push_back(size);
  }
  if (!both.empty()) return {from(least, both), from(least, both)};
  return {from(32, K_sizes), from(least, V_sizes)};
}

}  // namespace ladder::testing
