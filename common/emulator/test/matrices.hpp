// Numbers for the tests of matrix products.
#pragma once

#include <cmath>
#include <cstddef>
#include <random>
#include <vector>

using Matrix = std::vector<float>;

// Integers from -most to most, whose sums are exact in any order.
inline Matrix whole_numbers(int size, unsigned seed, int most) {
  std::mt19937 random(seed);
  Matrix matrix(static_cast<std::size_t>(size));
  for (float& x : matrix)
    x = static_cast<float>(static_cast<int>(random() % (2 * most + 1)) - most);
  return matrix;
}

// Numbers of very different magnitudes.
inline Matrix ragged_numbers(int size, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  Matrix matrix(static_cast<std::size_t>(size));
  for (float& x : matrix)
    x = normal(random) * std::exp2(static_cast<float>(random() % 17) - 8.0f);
  return matrix;
}
