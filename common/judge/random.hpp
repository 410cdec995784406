// Numbers for random problems.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <random>
#include <vector>

#include "common/core/precision.hpp"

namespace ladder {

// The same numbers on every machine, unlike the standard distributions.
class Random {
 public:
  Random(std::uint64_t seed, std::uint64_t index) {
    std::seed_seq words{static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32),
                        static_cast<std::uint32_t>(index), static_cast<std::uint32_t>(index >> 32)};
    engine_.seed(words);
  }
  std::uint64_t below(std::uint64_t n) { return engine_() % n; }
  bool one_in(std::uint64_t n) { return below(n) == 0; }
  float between(float low, float high) {
    return low + (high - low) * static_cast<float>(static_cast<double>(engine_() >> 11) * 0x1p-53);
  }
  template <typename Element, std::size_t kCount>
  Element one_of(const Element (&elements)[kCount]) {
    return elements[below(kCount)];
  }

 private:
  std::mt19937_64 engine_;
};

// Sizes of random problems, at and around the borders of tiles.
inline constexpr std::int64_t kRandomSizes[] = {1,  3,  5,  8,   16,  31,  32,  37,
                                                48, 64, 65, 100, 128, 129, 200, 256};
inline constexpr std::int64_t kRandomHeads[] = {1, 1, 2, 2, 3, 4};
// FMAs of one run in the emulator, about a second.
inline constexpr std::int64_t kRandomWork = 6'000'000;

std::int64_t random_length(Random& random);
// The length of a packed sequence, which may be empty.
std::int64_t random_part(Random& random);

// A power of ten for an array's values, usually 0. The largest fp16 number is 65504.
int random_power(Random& random, Precision precision);
// Whether a product of arrays with these factors stays far from fp32's limits, 1e38 and 1e-38, or
// in fp16 (65504) a sum of some hundred thousand such products.
bool powers_fit(std::initializer_list<int> powers, Precision precision = Precision::kFp32);
void scale_by_power(std::vector<float>& values, int power);
// Replaces some elements by the smallest numbers, which are negligible next to the others.
void make_some_tiny(Random& random, std::vector<float>& values, Precision precision);

}  // namespace ladder
