#include "common/judge/limits.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "common/core/errors.hpp"

namespace ladder {
namespace {

// `error` and `limit` are squares. An error beyond a limit of 0 has no share that a number could be; any large one says so.
double share_of(double error, double limit) {
  if (error == 0) return 0;
  return limit > 0 ? std::sqrt(error / limit) : std::numeric_limits<double>::max();
}

double relative(double error, double size) {
  return error == 0 ? 0 : std::sqrt(error / size);
}

struct Squares {
  double error = 0, size = 0, limit = 0;

  void add(const Squares& other) {
    error += other.error;
    size += other.size;
    limit += other.limit;
  }
};

}  // namespace

double Judged::share() const {
  return std::max({whole_share, row_share, element_share});
}

bool Judged::within_limit() const {
  return error.finite && whole_share <= 1 && row_share <= 1 && element_share <= 1;
}

double unit_roundoff(Precision precision) {
  switch (precision) {
    case Precision::kFp32: return kUnitRoundoff<float>;
    case Precision::kFp16: return kUnitRoundoff<float16>;
    default: return kUnitRoundoff<bfloat16>;
  }
}

Roundings stored_in(Precision precision) {
  switch (precision) {
    case Precision::kFp32: return {};
    case Precision::kFp16: return stored_as<float16>();
    default: return stored_as<bfloat16>();
  }
}

Judged judge_errors(const std::vector<float>& result, const std::vector<double>& truth,
                    const std::vector<double>& terms, std::int64_t row,
                    const Roundings& roundings) {
  require(result.size() == truth.size() && terms.size() == truth.size(),
          "result has " + std::to_string(result.size()) +
              " elements; allowed: as many as the truth, " + std::to_string(truth.size()));
  require_at_least("row", row, 1);
  require(truth.size() % row == 0, "row does not divide the number of elements");
  Judged judged;
  if (truth.empty()) return judged;
  const auto squares_of = [&](std::size_t i) {
    const double error = result[i] - truth[i], value = std::abs(truth[i]);
    const double size = std::max(value, terms[i]);
    const double stored = roundings.stored * value, operands = roundings.operands * terms[i];
    const double sums = roundings.sums * size, least = roundings.least;
    return Squares{error * error, size * size,
                   stored * stored + operands * operands + sums * sums + least * least};
  };
  std::vector<Squares> rows(truth.size() / row);
  Squares whole;
  for (std::size_t r = 0; r < rows.size(); ++r) {
    for (std::size_t i = r * row; i < (r + 1) * row; ++i) {
      if (!std::isfinite(result[i])) judged.error.finite = false;
      rows[r].add(squares_of(i));
    }
    whole.add(rows[r]);
  }
  double true_square = 0;
  for (const double value : truth)
    true_square += value * value;
  const double whole_size = true_square > 0 ? true_square : whole.size;
  judged.error.whole = relative(whole.error, whole_size);
  judged.limit.whole = relative(whole.limit, whole_size);
  judged.whole_share = share_of(whole.error, whole.limit);
  const double elements = static_cast<double>(truth.size()),
               count = static_cast<double>(rows.size());
  // Squares of the smallest limit, and of how much more than a whole tensor's the worst of so many may be.
  const double smallest = kSmallest * kSmallest * whole.limit / elements;
  const double of_rows = 1 + 2 * std::log(count), of_elements = 1 + 2 * std::log(elements);
  for (std::size_t r = 0; r < rows.size(); ++r) {
    const double limit = of_rows * std::max(rows[r].limit, smallest * static_cast<double>(row));
    const double share = share_of(rows[r].error, limit);
    if (judged.error.worst_row_index < 0 || share > judged.row_share) {
      judged.row_share = share;
      judged.error.worst_row = relative(rows[r].error, rows[r].size);
      judged.limit.worst_row = relative(limit, rows[r].size);
      judged.error.worst_row_index = static_cast<std::int64_t>(r);
    }
  }
  for (std::size_t i = 0; i < truth.size(); ++i) {
    const Squares one = squares_of(i);
    const double share = share_of(one.error, of_elements * std::max(one.limit, smallest));
    if (!(share <= 1)) judged.bad.push_back(static_cast<std::int64_t>(i));
    if (judged.element < 0 || share > judged.element_share) {
      judged.element_share = share;
      judged.element = static_cast<std::int64_t>(i);
    }
  }
  return judged;
}

}  // namespace ladder
