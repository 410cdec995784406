#include "common/judge/random.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>

namespace ladder {

std::int64_t random_length(Random& random) {
  return random.one_in(10) ? 0 : std::min<std::int64_t>(random.one_of(kRandomSizes), 200);
}

std::int64_t random_part(Random& random) {
  constexpr std::int64_t kParts[] = {0, 0, 1, 3, 16, 17, 37, 63, 64, 65, 100, 130};
  return random.one_of(kParts);
}

int random_power(Random& random, Precision precision) {
  if (!random.one_in(4)) return 0;
  if (precision == Precision::kFp16) return static_cast<int>(random.below(3)) - 1;
  return static_cast<int>(random.below(41)) - 22;
}

bool powers_fit(std::initializer_list<int> powers, Precision precision) {
  constexpr int kRange = 28, kRangeInFp16 = 1;
  int sum = 0;
  for (const int power : powers)
    sum += power;
  return std::abs(sum) <= (precision == Precision::kFp16 ? kRangeInFp16 : kRange);
}

void scale_by_power(std::vector<float>& values, int power) {
  if (power == 0) return;
  for (float& x : values)
    x *= static_cast<float>(std::pow(10.0, power));
}

void make_some_tiny(Random& random, std::vector<float>& values, Precision precision) {
  const float tiny = precision == Precision::kFp16 ? 6e-8f : 1e-40f;
  for (float& x : values) {
    if (random.one_in(8)) x = random.one_in(2) ? tiny : -tiny;
  }
}

}  // namespace ladder
