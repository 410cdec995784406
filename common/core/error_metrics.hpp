// Relative errors of a result against a float64 truth, of the whole tensor and of its worst row.
#pragma once

#include <cstdint>
#include <vector>

namespace ladder {

// A row is the last axis. A row's denominator has this fraction of the whole tensor's RMS as a floor, so that a row that
// is nearly zero by cancellation does not count as wrong.
inline constexpr double kRowFloor = 0.1;

struct RelativeError {
  double whole = 0;      // ||result - truth|| / ||truth||
  double worst_row = 0;  // the same per row, the largest
  std::int64_t worst_row_index = -1;
  bool finite =
      true;  // false if any element of the result is NaN or infinite; then the errors mean nothing
};

// Sizes must agree and be a multiple of `row` (std::invalid_argument otherwise).
RelativeError relative_error(const std::vector<float>& result, const std::vector<double>& truth,
                             std::int64_t row);

}  // namespace ladder
