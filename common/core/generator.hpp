// Random inputs that are the same on every machine.
#pragma once

#include <cstdint>
#include <numeric>
#include <random>
#include <vector>

#include "common/core/tensor.hpp"

namespace ladder {

// std::mt19937 is the same everywhere; the standard distributions are not, so the uniform numbers are made here.
class Generator {
 public:
  explicit Generator(std::uint32_t seed) : engine_(seed) {}

  float uniform(float low, float high) {
    const double unit = engine_() / 4294967296.0;
    return static_cast<float>(low + (high - low) * unit);
  }

  Tensor<float> tensor(std::vector<std::int64_t> shape, float low, float high) {
    Tensor<float> result(std::move(shape));
    for (float& element : result.data)
      element = uniform(low, high);
    return result;
  }

  // Of keys, for each batch, from 0..T_k; the first one 0 where there are several.
  Tensor<std::int64_t> key_lengths(std::int64_t B, std::int64_t T_k) {
    Tensor<std::int64_t> lengths({B});
    for (std::int64_t& length : lengths.data)
      length = static_cast<std::int64_t>(engine_() % static_cast<std::uint64_t>(T_k + 1));
    if (B > 1) lengths.data[0] = 0;
    return lengths;
  }

 private:
  std::mt19937 engine_;
};

// 0, and where each of the sequences ends.
inline Tensor<std::int64_t> cumulative(const std::vector<std::int64_t>& lengths) {
  Tensor<std::int64_t> ends({static_cast<std::int64_t>(lengths.size()) + 1});
  std::partial_sum(lengths.begin(), lengths.end(), ends.data.begin() + 1);
  return ends;
}

}  // namespace ladder
