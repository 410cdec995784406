// Random inputs that are the same on every machine.
#pragma once

#include <cstdint>
#include <numeric>
#include <random>
#include <vector>

namespace ladder {

// Makes its own uniform numbers, because the standard distributions differ between libraries.
class Generator {
 public:
  explicit Generator(std::uint32_t seed) : engine_(seed) {}

  float uniform(float low, float high) {
    const double unit = engine_() / 4294967296.0;
    return static_cast<float>(low + (high - low) * unit);
  }

  std::vector<float> reals(std::int64_t count, float low, float high) {
    std::vector<float> result(static_cast<std::size_t>(count));
    for (float& x : result)
      x = uniform(low, high);
    return result;
  }

  // Keys per batch, from 0..T_k. If there are several batches, the first has none.
  std::vector<std::int64_t> key_lengths(std::int64_t B, std::int64_t T_k) {
    std::vector<std::int64_t> lengths(static_cast<std::size_t>(B));
    for (std::int64_t& length : lengths)
      length = static_cast<std::int64_t>(engine_() % static_cast<std::uint64_t>(T_k + 1));
    if (B > 1) lengths[0] = 0;
    return lengths;
  }

 private:
  std::mt19937 engine_;
};

// cu_seqlens of these lengths, with 0 and then the end of each sequence.
inline std::vector<std::int64_t> cumulative(const std::vector<std::int64_t>& lengths) {
  std::vector<std::int64_t> ends(lengths.size() + 1);
  std::partial_sum(lengths.begin(), lengths.end(), ends.begin() + 1);
  return ends;
}

}  // namespace ladder
