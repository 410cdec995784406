// Common parts of the operators on sequences: names of axes, and small shapes.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "common/core/errors.hpp"
#include "common/core/precision.hpp"
#include "common/core/shape.hpp"
#include "common/judge/operator.hpp"

namespace ladder {

// Sets steps, names of axes, and how shapes are cut. The small shape is B=1, T=16, H=2 with the K
// and V of another. A part has some heads and few steps, with the K and V of the shape.
Operator on_sequences(Operator op);

// Memory of a recurrence's float64 reference, three (K, V) states per thread, one thread per head.
inline double bytes_of_walk(std::int64_t K, std::int64_t V, std::int64_t heads) {
  return 3.0 * sizeof(double) * static_cast<double>(K * V) *
         std::min(64.0, static_cast<double>(heads));
}

// For check_values: the ends of packed sequences and the keys per batch. No kernel checks them.
inline void check_ends(const std::string& name, const std::vector<std::int64_t>& ends,
                       std::int64_t B, std::int64_t T) {
  require(ends.empty() || (B == 1 && ends.back() == T),
          name + " ends at " + (ends.empty() ? "" : std::to_string(ends.back())) +
              ", with B = " + std::to_string(B) + "; allowed: the end at " + std::to_string(T) +
              ", the steps that there are, and B = 1");
}
inline void check_key_lengths(const std::vector<std::int64_t>& lengths, std::int64_t T_k) {
  for (const std::int64_t length : lengths) {
    require(length >= 0 && length <= T_k, "key_lengths has " + std::to_string(length) +
                                              "; allowed: 0 to " + std::to_string(T_k) +
                                              ", the keys that there are");
  }
}

// Shared by the plans of such operators.

// Magnitudes of inputs. Products of three are within fp32 and bf16.
inline constexpr float kHuge = 1e8f, kTiny = 1e-8f;

// The magnitudes for fp16, where `kHuge` is infinite and `kTiny` zero. A sum of 1000 products of
// three numbers is below 65504 for numbers up to 2, and subnormal for numbers up to 1/64.
inline float magnitude_within(Precision precision, float magnitude) {
  if (precision != Precision::kFp16 || magnitude == 1.0f) return magnitude;
  return magnitude > 1.0f ? 2.0f : 0x1p-6f;
}
inline float kind_of_magnitude(float magnitude) {
  return magnitude == 1.0f ? 1.0f : magnitude > 1.0f ? kHuge : kTiny;
}

// Long sequences get fewer heads, so that the emulator needs about a second per case. Short ones
// get a third batch, because a kernel may be right for the first and last batch only.
inline std::pair<std::int64_t, std::int64_t> batch_and_heads(std::int64_t T) {
  if (T <= 20) return {3, 2};
  if (T < 100) return {2, 3};
  return {1, T < 1000 ? 2 : 1};
}

// More heads than a block handles, more batches than a kernel would unroll, and a length of nine
// segments of 128 steps, or eighteen chunks of 64.
inline constexpr std::int64_t kManyHeads = 65, kManyBatches = 9, kManySteps = 1170;

// Rows so narrow that all elements may cancel.
inline constexpr std::int64_t kNarrow[] = {1, 2, 3, 4};

inline constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

// `size`, or the last one if `size` is not among them.
inline std::int64_t preferred(const std::vector<std::int64_t>& sizes, std::int64_t size) {
  return std::count(sizes.begin(), sizes.end(), size) > 0 ? size : sizes.back();
}

// The smallest size that is at least `least`, otherwise the largest.
inline std::int64_t from(std::int64_t least, std::vector<std::int64_t> sizes) {
  std::sort(sizes.begin(), sizes.end());
  const auto found = std::lower_bound(sizes.begin(), sizes.end(), least);
  return found == sizes.end() ? sizes.back() : *found;
}

// K and V of a plain case, at least 32, V at least `steps`, and equal if possible.
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

// Cases of the judge's table, small enough for the emulator.
inline void make_small(std::int64_t T, std::int64_t& K, std::int64_t& V) {
  const std::int64_t most = T >= 1000 ? 32 : T >= 100 ? 64 : 256;
  K = std::min(K, most);
  V = std::min(V, most);
}
inline constexpr std::int64_t kSmallLengths[] = {1, 2, 3, 5, 9, 17, 20, 33},
                              kSmallSizes[] = {4, 8, 16, 20, 32},
                              kSmallWidths[] = {1, 2, 4, 16, 20, 32};

}  // namespace ladder
