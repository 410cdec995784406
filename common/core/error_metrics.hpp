// Relative errors of a result against a float64 truth, of the whole tensor and of its worst row.
#pragma once

#include <cstdint>
#include <vector>

namespace ladder {

// A row is the last axis. The denominator of a row is at least this fraction of the whole tensor's
// RMS, so that a row that cancels to nearly zero does not count as wrong.
inline constexpr double kRowFloor = 0.1;

struct RelativeError {
  double whole = 0;      // ||result - truth|| / ||truth||
  double worst_row = 0;  // the largest such error of a row
  std::int64_t worst_row_index = -1;
  bool finite = true;  // otherwise the errors mean nothing
};

// The sizes must be equal and a multiple of `row`, or it throws std::invalid_argument.
RelativeError relative_error(const std::vector<float>& result, const std::vector<double>& truth,
                             std::int64_t row);

}  // namespace ladder
