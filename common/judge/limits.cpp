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

double square_of(double x) {
  return x * x;
}

// How large an error the sums of an element may have.
double of_sums(double value, double terms, const Roundings& roundings) {
  return roundings.sums * std::max(std::abs(value), terms);
}

void judge_slope(Judged& judged, const std::vector<float>& result, const std::vector<double>& truth,
                 const std::vector<double>& terms, std::int64_t row, const Roundings& roundings,
                 StoredValue stored) {
  double square = 0, product = 0, least = 0, most = 0, variance = 0;
  for (std::size_t first = 0; first < truth.size(); first += row) {
    double row_square = 0, row_terms = 0;
    for (std::size_t i = first; i < first + row; ++i) {
      const double value = truth[i];
      const double off = std::copysign(kTail * of_sums(value, terms[i], roundings), value);
      product += result[i] * value;
      least += stored(value - off) * value;
      most += stored(value + off) * value;
      row_square += square_of(value);
      row_terms += square_of(terms[i]);
      variance +=
          square_of(value) * (square_of(roundings.stored * value) + square_of(roundings.least));
    }
    square += row_square;
    variance += square_of(roundings.operands) * row_terms * row_square;
  }
  if (square == 0) return;
  const double spread = kTail * std::sqrt(variance / 3) / square;
  judged.slope = product / square;
  judged.slope_least = std::min(1.0, least / square) - spread;
  judged.slope_most = std::max(1.0, most / square) + spread;
  const double limit = judged.slope > 1 ? judged.slope_most - 1 : 1 - judged.slope_least;
  judged.slope_share = share_of(square_of(judged.slope - 1), square_of(limit));
}

}  // namespace

double Judged::share() const {
  return std::max({whole_share, row_share, element_share, slope_share});
}

bool Judged::within_limit() const {
  return error.finite && share() <= 1;
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
                    const std::vector<double>& terms, std::int64_t row, const Roundings& roundings,
                    StoredValue stored) {
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
    return Squares{square_of(error), square_of(size),
                   square_of(roundings.stored * value) + square_of(roundings.operands * terms[i]) +
                       square_of(of_sums(value, terms[i], roundings)) + square_of(roundings.least)};
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
  judge_slope(judged, result, truth, terms, row, roundings, stored);
  return judged;
}

}  // namespace ladder
