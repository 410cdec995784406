#include "common/judge/limits.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>

#include "common/core/errors.hpp"

namespace ladder {
namespace {

// `error` and `limit` are squares. With a limit of 0 any error gives the largest number.
double share_of(double error, double limit) {
  if (error == 0) return 0;
  return limit > 0 ? std::sqrt(error / limit) : std::numeric_limits<double>::max();
}

double square_of(double x) {
  return x * x;
}

double relative(double error, double size) {
  return error == 0 ? 0 : std::sqrt(error / size);
}

// The largest error of an element's accumulation.
double of_sums(double value, double terms, const Roundings& roundings) {
  return roundings.sums * std::max(std::abs(value), terms);
}

// A lower bound of the error before storing: the truth's distance to all that rounds to `result`.
double before_stored(double result, double truth, const Roundings& roundings) {
  const double error = result - truth;
  if (roundings.stored == 0) return error;
  int exponent = 0;
  const double fraction = std::frexp(std::abs(result), &exponent);
  double half_step = std::ldexp(roundings.stored, exponent - 1);
  if (fraction == 0.5 && std::abs(truth) < std::abs(result)) half_step /= 2;
  const double left = std::abs(error) - std::max(half_step, roundings.least);
  return left < 0 ? 0 : std::copysign(left, error);  // NaN stays
}

// Squares for an element, row or tensor. The error before storing has a limit of its own.
struct Squares {
  double error = 0, size = 0, limit = 0, before = 0, before_limit = 0;

  void add(const Squares& other) {
    error += other.error;
    size += other.size;
    limit += other.limit;
    before += other.before;
    before_limit += other.before_limit;
  }
};

// One row, or several equal neighbours, which share all their roundings. Weighted sums of squares.
struct Unit {
  double square = 0, product = 0, least = 0, most = 0, stored = 0, terms = 0, elements = 0;
  double rows = 0;

  void add(const Unit& row) {
    square += row.square;
    product += row.product;
    least += row.least;
    most += row.most;
    stored += row.stored;
    terms += row.terms;
    elements += row.elements;
    rows += row.rows;
  }
};

// The slope of some units. Its limit is counted from roundings, as if a whole unit shared one
// operand of each kind, or estimated from how much the errors of the units differ.
struct Slope {
  double square = 0, product = 0, least = 0, most = 0;
  double counted = 0, at_least = 0;  // variances
  double square_of_squares = 0, square_of_errors = 0, errors_times_squares = 0;

  void add(const Unit& unit, const Roundings& roundings, double smallest) {
    square += unit.square;
    product += unit.product;
    least += unit.least;
    most += unit.most;
    const double floor = smallest * unit.elements * unit.square;
    counted += unit.rows * unit.stored +
               std::max(square_of(roundings.operands) * unit.terms * unit.square, floor);
    at_least += floor;
    const double error = unit.product - unit.square;
    square_of_squares += square_of(unit.square);
    square_of_errors += square_of(error);
    errors_times_squares += error * unit.square;
  }

  double slope() const { return product / square; }

  // Infinite for too few units.
  double spread_of_units(double tail) const {
    const double units = square_of(square) / square_of_squares, left = 1 - square_of(tail) / units;
    if (left <= 0) return std::numeric_limits<double>::infinity();
    const double off = slope() - 1;
    const double about_mean =
        square_of_errors - 2 * off * errors_times_squares + square_of(off) * square_of_squares;
    return kShared * tail * std::sqrt(std::max(0.0, about_mean) / left) / square;
  }

  double spread(double tail, bool rows_share) const {
    const auto of = [&](double variance) { return tail * std::sqrt(variance / 3) / square; };
    if (rows_share) return of(counted);
    return std::min(of(counted), std::max(of(at_least), spread_of_units(tail)));
  }
};

struct Slopes {
  Judged& judged;
  const std::vector<float>& result;
  const std::vector<double>&truth, &terms;
  const std::vector<std::int64_t>& sizes;
  const Roundings& roundings;
  StoredValue stored;
  double smallest;  // lower bound for the square of an element's limit
  std::int64_t row = sizes.back(), rows = std::ssize(truth) / row;
  std::vector<Unit> units = {};

  // Rows larger than the mean are scaled down, because they say no more about a factor.
  Unit unit_of(std::int64_t first, double mean_size) const {
    Unit unit{.elements = static_cast<double>(row), .rows = 1};
    for (std::int64_t i = first; i < first + row; ++i) {
      const double value = truth[i];
      const double off = std::copysign(kTail * of_sums(value, terms[i], roundings), value);
      unit.product += result[i] * value;
      unit.least += stored(value - off) * value;
      unit.most += stored(value + off) * value;
      unit.square += square_of(value);
      unit.stored +=
          square_of(value) * (square_of(roundings.stored * value) + square_of(roundings.least));
      unit.terms += square_of(terms[i]);
    }
    const double size = std::max(unit.terms, mean_size);
    if (size == 0) return unit;
    unit.stored /= square_of(size);
    for (double* sum :
         {&unit.square, &unit.product, &unit.least, &unit.most, &unit.terms, &unit.elements})
      *sum /= size;
    return unit;
  }

  // Whether two rows differ by no more than the rounding of the same operands.
  bool alike(std::int64_t a, std::int64_t b) const {
    double square = 0, difference = 0;
    for (std::int64_t i = 0; i < row; ++i) {
      square += square_of(truth[a * row + i]);
      difference += square_of(truth[a * row + i] - truth[b * row + i]);
    }
    const double coarse = kAlike * std::max(roundings.stored, roundings.operands);
    return difference <= square_of(coarse) * square;
  }

  // Judges all rows with this index along an axis (-1 for all), in groups of `inner` rows.
  void judge(std::int64_t axis, std::int64_t index, std::int64_t inner, double tail) const {
    Slope slope;
    Unit unit;
    std::int64_t last = -1;
    const std::int64_t apart = axis < 0 ? inner : inner * sizes[axis];
    for (std::int64_t first = index * inner; first < rows; first += apart) {
      for (std::int64_t r = first; r < first + inner; ++r) {
        if (last >= 0 && !alike(last, r)) {
          slope.add(unit, roundings, smallest);
          unit = {};
        }
        unit.add(units[r]);
        last = r;
      }
    }
    slope.add(unit, roundings, smallest);
    if (slope.square == 0) return;
    const double spread = slope.spread(tail, roundings.rows_share), its = slope.slope();
    const double least = std::min(1.0, slope.least / slope.square) - spread,
                 most = std::max(1.0, slope.most / slope.square) + spread;
    const double share = share_of(square_of(its - 1), square_of(its > 1 ? most - 1 : 1 - least));
    if (share <= judged.slope_share) return;
    judged.slope = its, judged.slope_least = least, judged.slope_most = most;
    judged.slope_share = share;
    judged.slope_axis = axis, judged.slope_index = index;
  }

  void judge_all() {
    const std::int64_t outer_axes = std::ssize(sizes) - 1;
    double several = 1, mean_size = 0;
    for (std::int64_t axis = 0; axis < outer_axes; ++axis)
      several += static_cast<double>(sizes[axis]);
    const double tail = std::sqrt(square_of(kTail) + 2 * std::log(several));
    for (const double x : terms)
      mean_size += square_of(x) / static_cast<double>(rows);
    for (std::int64_t r = 0; r < rows; ++r)
      units.push_back(unit_of(r * row, mean_size));
    judge(-1, 0, rows, tail);
    std::int64_t inner = 1;
    for (std::int64_t axis = outer_axes; axis-- > 0; inner *= sizes[axis]) {
      for (std::int64_t index = 0; sizes[axis] > 1 && index < sizes[axis]; ++index)
        judge(axis, index, inner, tail);
    }
  }
};

// Finds rows whose errors, each too small to be wrong, lean one way: with the truth, or to a side.
struct Leaning {
  Judged& judged;
  const std::vector<float>& result;
  const std::vector<double>&truth, &terms;
  const Roundings& roundings;
  std::int64_t row;
  double smallest;  // lower bound for the square of a row's limit

  // The squared cosine of the angle between the row and a row of ones.
  double one_sidedness(std::size_t first) const {
    double sum = 0, square = 0;
    for (std::size_t i = first; i < first + row; ++i)
      sum += truth[i], square += square_of(truth[i]);
    return square > 0 ? square_of(sum) / (square * static_cast<double>(row)) : 1;
  }

  // The share of a row's terms that have one operand in common. The truth's elements contain the
  // same share, so it shows in the correlation of their squares.
  double of_one_operand(std::size_t first) const {
    const double n = static_cast<double>(row);
    double x = 0, y = 0, xx = 0, yy = 0, xy = 0;
    for (std::size_t i = first; i < first + row; ++i) {
      const double a = square_of(truth[i]), b = square_of(terms[i]);
      x += a, y += b, xx += a * a, yy += b * b, xy += a * b;
    }
    const double variances = (xx - x * x / n) * (yy - y * y / n);
    return variances > 1e-12 * xx * yy ? square_of(xy - x * y / n) / variances : 1;
  }

  template <typename Direction>
  void judge(std::size_t first, double shared, double tail, const Direction& direction) const {
    double error = 0, sums = 0, squared_terms = 0, square = 0;
    for (std::size_t i = first; i < first + row; ++i) {
      const double d = direction(i);
      error += before_stored(result[i], truth[i], roundings) * d;
      sums += of_sums(truth[i], terms[i], roundings) * std::abs(d);
      squared_terms += square_of(terms[i]);
      square += square_of(d);
    }
    const double operands = square_of(roundings.operands) * squared_terms *
                            std::min(1.0, shared + 2 / static_cast<double>(row)) / 3;
    const double rounded = std::max(operands, smallest) + square_of(roundings.least);
    const double limit = tail * (std::sqrt(rounded * square) + sums);
    const double share = share_of(square_of(error), square_of(limit));
    if (share > judged.leaning_share) {
      judged.leaning_share = share;
      judged.leaning_row = static_cast<std::int64_t>(first) / row;
    }
  }

  void judge_all() const {
    const std::int64_t rows = std::ssize(truth) / row;
    const double tail = std::sqrt(square_of(kTail) + 2 * std::log(2.0 * static_cast<double>(rows)));
    std::vector<double> to_one_side(rows);
    for (std::int64_t r = 0; r < rows; ++r)
      to_one_side[r] = one_sidedness(r * row);
    const double usual =
        std::accumulate(to_one_side.begin(), to_one_side.end(), 0.0) / static_cast<double>(rows);
    for (std::int64_t r = 0; r < rows; ++r) {
      const std::size_t first = r * row;
      judge(first, of_one_operand(first), tail, [&](std::size_t i) { return truth[i]; });
      judge(first, 2 * std::max(usual, to_one_side[r]), tail, [](std::size_t) { return 1.0; });
    }
  }
};

}  // namespace

double Judged::share() const {
  return std::max({whole_share, row_share, element_share, slope_share, leaning_share});
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
                    const std::vector<double>& terms, const std::vector<std::int64_t>& sizes,
                    const Roundings& roundings, StoredValue stored) {
  require(result.size() == truth.size() && terms.size() == truth.size(),
          "result has " + std::to_string(result.size()) +
              " elements; allowed: as many as the truth, " + std::to_string(truth.size()));
  require(!sizes.empty() && std::accumulate(sizes.begin(), sizes.end(), std::int64_t{1},
                                            std::multiplies<>()) == std::ssize(truth),
          "sizes do not multiply to the number of elements");
  Judged judged;
  if (truth.empty()) return judged;
  const std::int64_t row = sizes.back();
  const auto squares_of = [&](std::size_t i) {
    const double error = result[i] - truth[i], value = std::abs(truth[i]);
    const double limit = square_of(roundings.operands * terms[i]) +
                         square_of(of_sums(value, terms[i], roundings)) +
                         square_of(roundings.least);
    return Squares{.error = square_of(error),
                   .size = square_of(std::max(value, terms[i])),
                   .limit = limit + square_of(roundings.stored * value),
                   .before = square_of(before_stored(result[i], truth[i], roundings)),
                   .before_limit = limit};
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
  judged.whole_share = share_of(whole.before, whole.before_limit);
  const double elements = static_cast<double>(truth.size()),
               count = static_cast<double>(rows.size());
  // Squares of the smallest limit, and of the factor for the worst of so many rows or elements.
  const double smallest = kSmallest * kSmallest * whole.before_limit / elements;
  const double of_rows = 1 + 2 * std::log(count), of_elements = 1 + 2 * std::log(elements);
  for (std::size_t r = 0; r < rows.size(); ++r) {
    const double least = smallest * static_cast<double>(row);
    const double share = share_of(rows[r].before, of_rows * std::max(rows[r].before_limit, least));
    if (judged.error.worst_row_index < 0 || share > judged.row_share) {
      judged.row_share = share;
      judged.error.worst_row = relative(rows[r].error, rows[r].size);
      judged.limit.worst_row = relative(of_rows * std::max(rows[r].limit, least), rows[r].size);
      judged.error.worst_row_index = static_cast<std::int64_t>(r);
    }
  }
  for (std::size_t i = 0; i < truth.size(); ++i) {
    const Squares one = squares_of(i);
    const double share = share_of(one.before, of_elements * std::max(one.before_limit, smallest));
    if (!(share <= 1)) judged.bad.push_back(static_cast<std::int64_t>(i));
    if (judged.element < 0 || share > judged.element_share) {
      judged.element_share = share;
      judged.element = static_cast<std::int64_t>(i);
    }
  }
  Slopes{judged, result, truth, terms, sizes, roundings, stored, smallest}.judge_all();
  Leaning{judged, result, truth, terms, roundings, row, smallest * static_cast<double>(row)}
      .judge_all();
  return judged;
}

}  // namespace ladder
