#include "common/testing/planted.hpp"

#include <algorithm>
#include <cmath>

namespace ladder::testing {

std::vector<float> stored(const Part& part, const std::vector<double>& values) {
  std::vector<float> result(values.size());
  std::transform(values.begin(), values.end(), result.begin(), part.stored);
  return result;
}

std::vector<Planted> planted_in(const Part& part, bool fp32) {
  std::vector<Planted> result;
  const std::int64_t row = part.layout.row(), rows = std::ssize(*part.truth) / row;
  const auto size_of = [&](std::int64_t i) {
    return std::max(std::abs((*part.truth)[i]), (*part.terms)[i]);
  };
  const auto square_of_row = [&](std::int64_t r, const auto& value_of) {
    double square = 0;
    for (std::int64_t i = r * row; i < (r + 1) * row; ++i)
      square += value_of(i) * value_of(i);
    return square;
  };
  // In the largest row except the last, so that the fault is not in a negligible row.
  std::int64_t largest = 0;
  double most = -1;
  for (std::int64_t r = 0; r < std::max<std::int64_t>(1, rows - 1); ++r) {
    const double size = square_of_row(r, size_of);
    if (size > most) most = size, largest = r;
  }
  // If all terms cancel, as in a gradient through one key, there is nothing to be wrong.
  const auto truth_of = [&](std::int64_t i) { return (*part.truth)[i]; };
  if (std::sqrt(square_of_row(largest, truth_of)) < 1e-6 * std::sqrt(most)) return result;
  if (rows > 1) {
    std::vector<float> swapped = *part.result;
    std::copy_n(part.result->begin() + (largest + 1) * row, row, swapped.begin() + largest * row);
    const auto change_of = [&](std::int64_t i) -> double { return swapped[i] - (*part.result)[i]; };
    if (std::sqrt(square_of_row(largest, change_of)) > 0.1 * std::sqrt(most))
      result.push_back({"row", std::move(swapped)});
  }
  std::int64_t element = largest * row;
  for (std::int64_t i = element; i < (largest + 1) * row; ++i) {
    if (size_of(i) > size_of(element)) element = i;
  }
  std::vector<float> off = *part.result;
  off[element] += static_cast<float>((fp32 ? 1e-4 : 0.1) * size_of(element));
  if (off != *part.result) result.push_back({"element", std::move(off)});
  return result;
}

}  // namespace ladder::testing
