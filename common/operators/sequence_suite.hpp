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

}  // namespace ladder::testing
