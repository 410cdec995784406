#include "common/core/error_metrics.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "common/core/errors.hpp"

namespace ladder {
namespace {

double safe_divide(double error, double size) {
  if (size > 0) return error / size;
  return error == 0 ? 0 : std::numeric_limits<double>::infinity();  // a NaN error is not 0 either
}

}  // namespace

RelativeError relative_error(const std::vector<float>& result, const std::vector<double>& truth,
                             std::int64_t row) {
  require(result.size() == truth.size(), "result has " + std::to_string(result.size()) +
                                             " elements; allowed: as many as the truth, " +
                                             std::to_string(truth.size()));
  require_at_least("row", row, 1);
  require(truth.size() % row == 0, "row does not divide the number of elements");
  RelativeError error;
  const std::int64_t rows = static_cast<std::int64_t>(truth.size()) / row;
  std::vector<double> row_error(rows), row_size(rows);
  for (std::int64_t r = 0; r < rows; ++r) {
    for (std::int64_t i = r * row; i < (r + 1) * row; ++i) {
      if (!std::isfinite(result[i])) error.finite = false;
      const double difference = result[i] - truth[i];
      row_error[r] += difference * difference;
      row_size[r] += truth[i] * truth[i];
    }
  }
  double total_error = 0, total_size = 0;
  for (std::int64_t r = 0; r < rows; ++r) {
    total_error += row_error[r];
    total_size += row_size[r];
  }
  if (rows == 0) return error;
  error.whole = safe_divide(std::sqrt(total_error), std::sqrt(total_size));
  const double floor = kRowFloor * std::sqrt(total_size / rows);
  for (std::int64_t r = 0; r < rows; ++r) {
    const double relative =
        safe_divide(std::sqrt(row_error[r]), std::max(std::sqrt(row_size[r]), floor));
    if (relative > error.worst_row || error.worst_row_index < 0) {
      error.worst_row = relative;
      error.worst_row_index = r;
    }
  }
  return error;
}

}  // namespace ladder
