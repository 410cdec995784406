// Tests for WKV kernels in chunks which tokens' decays apply between each key and each query. For
// tests only.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "common/operators/wkv/operator.hpp"

namespace chunkwise {

// Tokens `first` to `last`, or none if last is first - 1.
struct Range {
  std::int64_t first, last;
};

inline std::string words(const Range& r) {
  if (r.last < r.first) return "no token";
  if (r.last == r.first) return "token " + std::to_string(r.first);
  return "tokens " + std::to_string(r.first) + " to " + std::to_string(r.last);
}

// q and k are 1 in a single channel, and v_s is 1 in column s only. Therefore column s of o_l is
// the part of key s that the decays leave for query l. 36 tokens are two sub-chunks of 16 and a
// partial one.
inline void expect_decays_between(const std::string& implementation) {
  constexpr std::int64_t kT = 36, kSize = 64;
  constexpr double kClose = 0.015;  // five numbers are rounded to bf16, each by up to 0.002
  ladder::WkvProblem problem = ladder::make_problem(
      {.B = 1, .T = kT, .H = 1, .K = kSize, .V = kSize, .precision = ladder::Precision::kBf16});
  for (const char* array : {"q", "k", "v", "log_w", "u"})
    std::fill(problem[array].begin(), problem[array].end(), 0.0f);
  problem["u"][0] = 1;
  std::vector<double> sums = {0};
  for (std::int64_t t = 0; t < kT; ++t) {
    problem["q"][t * kSize] = problem["k"][t * kSize] = problem["v"][t * kSize + t] = 1;
    const float log_w = -0.03125f * static_cast<float>(1 + t * 5 % 7);
    problem["log_w"][t * kSize] = log_w;
    sums.push_back(sums.back() + log_w);
  }
  const auto decay = [&](const Range& r) { return std::exp(sums[r.last + 1] - sums[r.first]); };
  // The range that leaves this part, if one of its ends is right. All such ranges leave different
  // parts.
  const auto range_of = [&](double left, const Range& right) -> std::optional<Range> {
    for (std::int64_t t = 0; t < kT; ++t) {
      for (const Range& range : {Range{t, right.last}, Range{right.first, t}}) {
        if (range.first > range.last + 1) continue;
        if (std::abs(left / decay(range) - 1) < kClose) return range;
      }
    }
    return std::nullopt;
  };
  const auto outputs = ladder::run(ladder::find_implementation(implementation), problem);
  for (std::int64_t l = 0; l < kT; ++l) {
    for (std::int64_t s = 0; s < kT; ++s) {
      const double left = outputs.o[l * kSize + s];
      const std::string pair = "WRONG RESULT in o: query " + std::to_string(l) + " sees key " +
                               std::to_string(s) + " times " + std::to_string(left);
      if (s >= l) {
        ASSERT_NEAR(left, s == l ? 1 : 0, kClose)
            << pair << (s == l ? ", its own; here the bonus is 1" : ", which is later");
        continue;
      }
      const Range right{s + 1, l - 1};
      const std::optional<Range> yours = range_of(left, right);
      ASSERT_LT(std::abs(left / decay(right) - 1), kClose)
          << pair << (yours ? ", the decay of " + words(*yours) : "") << "\nbetween the two lies "
          << words(right) << ", which leaves " << decay(right);
    }
  }
}

}  // namespace chunkwise
