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

// The smallest that is at least 32, or the largest where none is.
inline std::int64_t from_32_on(std::vector<std::int64_t> sizes) {
  std::sort(sizes.begin(), sizes.end());
  const auto least = std::lower_bound(sizes.begin(), sizes.end(), std::int64_t{32});
  return least == sizes.end() ? sizes.back() : *least;
}

// The same for two sizes, alike where both can be.
inline std::pair<std::int64_t, std::int64_t> from_32_on(const std::vector<std::int64_t>& K_sizes,
                                                        const std::vector<std::int64_t>& V_sizes) {
  std::vector<std::int64_t> both;
  for (const std::int64_t size : K_sizes) {
    if (size >= 32 && std::count(V_sizes.begin(), V_sizes.end(), size) > 0) both.push_back(size);
  }
  if (!both.empty()) return {from_32_on(both), from_32_on(both)};
  return {from_32_on(K_sizes), from_32_on(V_sizes)};
}

}  // namespace ladder::testing
