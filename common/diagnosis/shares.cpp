#include "common/diagnosis/shares.hpp"

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>

#include "common/judge/judging.hpp"

namespace ladder {
namespace {

constexpr double kClose = 2e-3;      // of the largest share of a row
constexpr double kRoundings = 20;    // of o, that a share may have
constexpr double kExplained = 1e-4;  // of o: what a sum may leave

using Matrix = Eigen::MatrixXd;
using Vector = Eigen::VectorXd;

// "4 to 31", "1, 3, 5, 7, ... 31", "0, 7 and 9"
std::string list_of(const std::vector<std::int64_t>& rows) {
  constexpr std::size_t kMostSaid = 4;
  const std::int64_t count = static_cast<std::int64_t>(rows.size());
  std::string text = std::to_string(rows.front());
  const std::string last = std::to_string(rows.back());
  if (count == 1) return text;
  if (count > 2 && rows.back() - rows.front() == count - 1) return text + " to " + last;
  const bool all = rows.size() <= kMostSaid;
  for (std::size_t n = 1; n < (all ? rows.size() - 1 : kMostSaid); ++n)
    text += ", " + std::to_string(rows[n]);
  return text + (all ? " and " : ", ... ") + last;
}

}  // namespace

// For each head of v a decomposition that gives the shares of a row of o, and the matrix itself.
struct ShareSolver::Heads {
  Matrix v;  // V x T_k
  Eigen::ColPivHouseholderQR<Matrix> solver;
};

ShareSolver::ShareSolver(const Operand& v, std::int64_t T_q, std::int64_t H_q, double rounding)
    : v_(v), T_q_(T_q), H_q_(H_q), rounding_(rounding) {
  if (v.T == 0 || v.T > v.width) return;
  for (std::int64_t b = 0; b < v.B; ++b) {
    for (std::int64_t h = 0; h < v.H; ++h) {
      Matrix columns(v.width, v.T);
      for (std::int64_t t = 0; t < v.T; ++t) {
        const std::vector<double> row = v.row(b, t, h, {});
        columns.col(t) = Eigen::Map<const Vector>(row.data(), v.width);
      }
      Eigen::ColPivHouseholderQR<Matrix> solver(columns);
      if (solver.rank() < v.T) {
        solvers_.clear();
        return;
      }
      solvers_.push_back({std::move(columns), std::move(solver)});
    }
  }
}

ShareSolver::~ShareSolver() = default;

std::optional<Shares> ShareSolver::shares(const std::vector<double>& o) const {
  if (solvers_.empty()) return std::nullopt;
  Shares result;
  result.reserve(v_.B * H_q_ * T_q_ * v_.T);
  const double all = Eigen::Map<const Vector>(o.data(), o.size()).norm();
  double left = 0;
  for (std::int64_t b = 0; b < v_.B; ++b) {
    for (std::int64_t h = 0; h < H_q_; ++h) {
      const Heads& head = solvers_[b * v_.H + h / (H_q_ / v_.H)];
      for (std::int64_t t = 0; t < T_q_; ++t) {
        const Eigen::Map<const Vector> row(&o[((b * T_q_ + t) * H_q_ + h) * v_.width], v_.width);
        if (!row.allFinite()) return std::nullopt;
        const Vector of_row = head.solver.solve(row);
        left += (head.v * of_row - row).squaredNorm();
        result.insert(result.end(), of_row.begin(), of_row.end());
      }
    }
  }
  if (!(std::sqrt(left) <= (kExplained + 2 * rounding_) * all)) return std::nullopt;
  return result;
}

bool ShareSolver::is_right_but_for(const Pairs& is_free, const Part& result,
                                   bool in_proportion) const {
  std::vector<double> values = *result.truth;
  for (std::int64_t row = 0; row < v_.B * T_q_ * H_q_; ++row) {
    const std::int64_t h = row % H_q_, t = row / H_q_ % T_q_, b = row / H_q_ / T_q_;
    const Heads& head = solvers_[b * v_.H + h / (H_q_ / v_.H)];
    Eigen::Map<Vector> right(&values[row * v_.width], v_.width);
    Matrix basis(v_.width, v_.T + 1);
    std::int64_t columns = 0;
    for (std::int64_t s = 0; s < v_.T; ++s) {
      if (is_free(t, s)) basis.col(columns++) = head.v.col(s);
    }
    if (in_proportion) basis.col(columns++) = right;
    if (columns == 0) continue;
    basis.conservativeResize(Eigen::NoChange, columns);
    const Vector yours =
        Eigen::Map<const Eigen::VectorXf>(&(*result.result)[row * v_.width], v_.width)
            .cast<double>();
    const Vector off = yours - right;
    right += basis * basis.colPivHouseholderQr().solve(off);
  }
  return is_within_limits_of(values, result);
}

namespace {

// Pairs of a query and a key.
struct Region {
  std::string words;
  ShareSolver::Pairs has;
};

std::vector<Region> regions(const std::string& key, std::int64_t queries, std::int64_t count) {
  const std::string keys = key + "s";
  std::vector<Region> list = {
      {"its own " + (key == "step" ? std::string("key and value") : key),
       [](auto t, auto s) { return s == t; }},
      {"the " + key + " before it", [](auto t, auto s) { return s == t - 1; }}};
  for (std::int64_t one = 0; one < count; ++one)
    list.push_back({key + " " + std::to_string(one), [one](auto, auto s) { return s == one; }});
  for (const std::int64_t block : {16, 32, 64, 8, 4}) {  // the usual ones first
    if (block >= queries) continue;
    const std::string of = std::to_string(block) + " " + keys;
    const auto begin = [block](std::int64_t t) { return t / block * block; };
    const std::vector<Region> of_blocks = {
        {"its own block of " + of + ", where that is not the first block",
         [=](auto t, auto s) { return t >= block && s >= begin(t) && s < begin(t) + block; }},
        {"the earlier " + keys + " of its own block of " + std::to_string(block),
         [=](auto t, auto s) { return s >= begin(t) && s < t; }},
        {"its own block of " + of,
         [=](auto t, auto s) { return s >= begin(t) && s < begin(t) + block; }},
        {"the " + keys + " before its own block of " + std::to_string(block),
         [=](auto t, auto s) { return s < begin(t); }},
        {"the " + keys + " that lie two or more blocks of " + std::to_string(block) + " back",
         [=](auto t, auto s) { return s < begin(t) - block; }},
    };
    list.insert(list.end(), of_blocks.begin(), of_blocks.end());
  }
  list.push_back({"earlier " + keys, [](auto t, auto s) { return s < t; }});
  list.push_back({"later " + keys, [](auto t, auto s) { return s > t; }});
  return list;
}

// Shares beside the true ones.
class Comparison {
 public:
  // `proportions`: each row of `yours` is multiplied by what makes most of it right.
  Comparison(const ShareSolver& solver, const Shares& yours, const Shares& right, bool proportions)
      : solver_(solver), yours_(yours), right_(right), proportions_(proportions) {
    for (std::size_t row = 0; row < yours.size(); row += solver.keys()) {
      const double most = row_of(right, row).cwiseAbs().maxCoeff();
      close_.push_back((kClose + kRoundings * solver.rounding()) * most);
    }
    factors_ = scale(yours_);
    for (std::size_t row = 0; row < close_.size(); ++row)
      close_[row] += kClose / 10 * row_of(yours_, row * solver.keys()).cwiseAbs().maxCoeff();
  }

  struct Count {
    std::int64_t wrong_inside = 0, wrong_outside = 0, inside = 0;
  };
  Count count(const Region& region) const {
    Count found;
    for_each([&](std::size_t at, std::int64_t t, std::int64_t s, double close) {
      const bool wrong = std::abs(yours_[at] - right_[at]) > close, in = region.has(t, s);
      found.inside += in;
      found.wrong_inside += wrong && in;
      found.wrong_outside += wrong && !in;
    });
    return found;
  }

  bool equals_in(const Region& region, Shares other) const {
    scale(other);
    bool same = true;
    for_each([&](std::size_t at, std::int64_t t, std::int64_t s, double close) {
      if (region.has(t, s)) same = same && std::abs(yours_[at] - other[at]) <= close;
    });
    return same;
  }

  // What all shares in there are multiplied by; NaN if they are not.
  double factor_in(const Region& region) const {
    double product = 0, square = 0;
    for_each([&](std::size_t at, std::int64_t t, std::int64_t s, double) {
      if (!region.has(t, s)) return;
      product += yours_[at] * right_[at];
      square += right_[at] * right_[at];
    });
    if (square == 0) return std::nan("");
    const double factor = product / square;
    bool same = true;
    for_each([&](std::size_t at, std::int64_t t, std::int64_t s, double close) {
      if (region.has(t, s))
        same = same && std::abs(yours_[at] - factor * right_[at]) <= close * std::max(1.0, factor);
    });
    return same ? factor : std::nan("");
  }

  bool proportions() const { return proportions_; }

  // "o of step 3 is 0.7 times what it should be": the first row that is multiplied by something.
  std::string first_factor(const std::string& query) const {
    const auto wrong = std::find_if(factors_.begin(), factors_.end(), [](double factor) {
      return std::abs(factor - 1) > 2 * kClose;
    });
    if (wrong == factors_.end()) return "";
    return "o of " + query + " " + std::to_string((wrong - factors_.begin()) % solver_.queries()) +
           " is " + short_number(1 / *wrong) + " times what it should be";
  }

 private:
  Eigen::Map<const Vector> row_of(const Shares& of, std::size_t first) const {
    return {&of[first], solver_.keys()};
  }

  // What each row is multiplied by.
  std::vector<double> scale(Shares& shares) const {
    std::vector<double> factors(close_.size(), 1.0);
    if (!proportions_) return factors;
    const std::int64_t keys = solver_.keys();
    for (std::size_t row = 0; row < close_.size(); ++row) {
      double* yours = &shares[row * keys];
      const double* right = &right_[row * keys];
      std::int64_t most = 0;
      for (std::int64_t s = 0; s < keys; ++s) {
        const double factor = right[s] / yours[s];
        if (std::abs(right[s]) <= close_[row] || !std::isfinite(factor)) continue;
        std::int64_t right_ones = 0;
        for (std::int64_t other = 0; other < keys; ++other) {
          right_ones += std::abs(right[other]) > close_[row] &&
                        std::abs(factor * yours[other] - right[other]) <= close_[row];
        }
        if (right_ones <= most) continue;
        most = right_ones;
        factors[row] = factor;
      }
      for (std::int64_t s = 0; s < keys; ++s)
        yours[s] *= factors[row];
    }
    return factors;
  }

  // visit(at, t, s, close): each pair that has a share in one of the two.
  template <typename Visit>
  void for_each(const Visit& visit) const {
    const std::int64_t keys = solver_.keys();
    for (std::size_t at = 0; at < yours_.size(); ++at) {
      const std::int64_t row = static_cast<std::int64_t>(at) / keys;
      if (std::max(std::abs(yours_[at]), std::abs(right_[at])) > close_[row])
        visit(at, row % solver_.queries(), static_cast<std::int64_t>(at) % keys, close_[row]);
    }
  }

  const ShareSolver& solver_;
  Shares yours_;
  const Shares& right_;
  bool proportions_;
  std::vector<double> close_, factors_;  // of each row
};

std::string explain(const Comparison& comparison, const ShareSolver& solver, const Part& result,
                    const std::vector<KnownShares>& known, const std::string& query,
                    const std::string& key, const std::string& rest) {
  const Region* found = nullptr;
  std::int64_t smallest = 0;
  const std::vector<Region> list = regions(key, solver.queries(), solver.keys());
  for (const Region& region : list) {
    const Comparison::Count count = comparison.count(region);
    if (count.wrong_outside > 0 || 2 * count.wrong_inside <= count.inside) continue;
    if (found && count.inside >= smallest) continue;
    found = &region;
    smallest = count.inside;
  }
  if (!found || !solver.is_right_but_for(found->has, result, comparison.proportions())) return "";
  const double factor = comparison.factor_in(*found);
  if (std::abs(factor) < kClose + kRoundings * solver.rounding())
    return "A " + query + " takes nothing from " + found->words + "; " + rest + "\n";
  const std::string words =
      "What a " + query + " takes from " + found->words + " is wrong; " + rest;
  for (const auto& [name, shares] : known) {
    const std::optional<Shares> other = shares();
    if (other && comparison.equals_in(*found, *other))
      return words + ". There it equals the result " + name + "\n";
  }
  if (std::isfinite(factor) &&
      comparison.proportions()) {  // nobody can tell which of the two is wrong
    return "Beside all else, what a " + query + " takes from " + found->words + " is " +
           short_number(factor) +
           " times what it should be. Either that is wrong, or all else is " +
           short_number(1 / factor) + " times what it should be: o is divided by the sum of both\n";
  }
  if (std::isfinite(factor))
    return words + ". There it is " + short_number(factor) + " times what it should be\n";
  return words + "\n";
}

}  // namespace

std::string explain_shares(const ShareSolver& solver, const Part& result,
                           const std::vector<KnownShares>& known, const std::string& query,
                           const std::string& key) {
  const std::optional<Shares> right = solver.shares(*result.truth),
                              yours = solver.shares({result.result->begin(), result.result->end()});
  if (!right || !yours) return "";
  const std::string words = explain(Comparison(solver, *yours, *right, false), solver, result,
                                    known, query, key, "all else is right");
  if (!words.empty()) return words;
  const Comparison proportions(solver, *yours, *right, true);
  if (proportions.count({"", [](auto, auto) { return true; }}).wrong_inside > 0) {
    return explain(proportions, solver, result, known, query, key,
                   "all else is in the right proportion");
  }
  const auto none = [](std::int64_t, std::int64_t) { return false; };
  if (proportions.first_factor(query).empty() || !solver.is_right_but_for(none, result, true))
    return "";
  return "All that a " + query + " takes is in the right proportion, but " +
         proportions.first_factor(query) + ": what o is divided or multiplied by is wrong\n";
}

namespace {

bool alike(double a, double b) {
  return std::abs(a - b) <= kClose * std::max(1.0, std::abs(b));
}

// Whether o is a sum of the columns, to within its limits, in which those that count about once count exactly so.
bool is_sum_of_rows(const Matrix& columns, const Vector& counts, const Vector& o,
                    const Part& result) {
  Vector once = Vector::Ones(counts.size());
  Matrix free(columns.rows(), counts.size());
  std::int64_t wrong = 0;
  for (std::int64_t j = 0; j < counts.size(); ++j) {
    if (alike(counts[j], 1)) continue;
    once[j] = 0;
    free.col(wrong++) = columns.col(j);
  }
  if (wrong == 0) return false;
  free.conservativeResize(Eigen::NoChange, wrong);
  const Vector right = columns * once;
  const Vector sum = right + free * free.colPivHouseholderQr().solve(Vector(o - right));
  return is_within_limits_of({sum.begin(), sum.end()}, result);
}

// How often each key row counts, part by part; empty if no such counts give the result.
std::vector<std::vector<double>> counts_of(const Part& result,
                                           const std::vector<PartOfRows>& parts) {
  std::int64_t columns = 0;
  for (const PartOfRows& part : parts)
    columns += static_cast<std::int64_t>(part.terms.size());
  const std::int64_t rows = std::ssize(*result.result);
  if (columns == 0 || rows < 2 * columns) return {};
  Matrix of(rows, columns);
  std::int64_t column = 0;
  for (const PartOfRows& part : parts) {
    for (const std::vector<double>& one : part.terms)
      of.col(column++) = Eigen::Map<const Vector>(one.data(), rows);
  }
  const Vector o = Eigen::Map<const Eigen::VectorXf>(result.result->data(), rows).cast<double>();
  if (!o.allFinite()) return {};
  const Eigen::ColPivHouseholderQR<Matrix> solver(of);
  if (solver.rank() < columns) return {};
  const Vector all = solver.solve(o);
  if (!((of * all - o).norm() <= kExplained * o.norm())) return {};
  if (!is_sum_of_rows(of, all, o, result)) return {};
  std::vector<std::vector<double>> counts;
  const double* next = all.data();
  for (const PartOfRows& part : parts) {
    counts.emplace_back(next, next + part.terms.size());
    next += part.terms.size();
  }
  return counts;
}

// " is missing", " count 1.43 times, which is 1 / scale: the scale is missing there"
std::string said_of_count(double count, bool one, double scale) {
  if (alike(count, 0)) return one ? " is missing" : " are missing";
  std::string text = (one ? " counts " : " count ") + short_number(count) + " times";
  if (scale != 1 && alike(count, 1 / scale))
    text += ", which is 1 / scale: they are not multiplied by the scale";
  if (scale != 1 && alike(count, scale))
    text += ", which is the scale: they are multiplied by it once more";
  return text;
}

// What is said of one part: "key row 7 is missing; key rows 8 to 9 count 2 times; all others count once".
std::string said_of_counts(const std::vector<double>& counts, double scale) {
  constexpr std::size_t kMostSaid = 3;
  std::vector<std::pair<double, std::vector<std::int64_t>>> wrong;  // in order of the first row
  std::vector<std::int64_t> right;
  for (std::size_t j = 0; j < counts.size(); ++j) {
    if (alike(counts[j], 1)) {
      right.push_back(static_cast<std::int64_t>(j));
      continue;
    }
    auto same = std::find_if(wrong.begin(), wrong.end(),
                             [&](const auto& each) { return alike(each.first, counts[j]); });
    if (same == wrong.end()) same = wrong.insert(wrong.end(), {counts[j], {}});
    same->second.push_back(static_cast<std::int64_t>(j));
  }
  if (wrong.empty()) return "";
  std::string text;
  const auto named = [](const std::vector<std::int64_t>& rows) {
    return (rows.size() == 1 ? "key row " : "key rows ") + list_of(rows);
  };
  if (wrong.size() == 1 && 2 * right.size() < counts.size()) {
    if (right.empty()) return "all key rows" + said_of_count(wrong[0].first, false, scale);
    if (alike(wrong[0].first, 0))
      return "only " + named(right) + (right.size() == 1 ? " counts" : " count");
    return "all key rows but " + list_of(right) + said_of_count(wrong[0].first, false, scale);
  }
  for (std::size_t n = 0; n < wrong.size() && n < kMostSaid; ++n) {
    const auto& [count, rows] = wrong[n];
    text += (n ? "; " : "") + named(rows) + said_of_count(count, rows.size() == 1, scale);
  }
  if (wrong.size() > kMostSaid) text += "; and so on";
  return text + (right.empty() ? "" : "; all others count once");
}

}  // namespace

std::string explain_rows(const Part& result, const std::vector<PartOfRows>& parts, double scale) {
  const std::vector<std::vector<double>> counts = counts_of(result, parts);
  if (counts.empty()) return "";
  const bool one_rule =
      std::all_of(counts.begin() + 1, counts.end(), [&](const std::vector<double>& each) {
        return std::equal(each.begin(), each.end(), counts[0].begin(), counts[0].end(), alike);
      });
  std::string text;
  for (std::size_t part = 0; part < (one_rule ? 1 : counts.size()); ++part) {
    const std::int64_t K = static_cast<std::int64_t>(counts[part].size());
    std::string words;
    for (const Rows& known : partial_rows(K)) {
      bool same = true;
      for (std::int64_t j = 0; j < K; ++j)
        same = same && alike(counts[part][j], known.arrives(j) ? 1 : 0);
      if (same && !one_rule)
        words = "it equals the result with " + parts[part].name + " " + known.words;
    }
    if (words.empty()) {
      words = said_of_counts(counts[part], scale);
      if (!words.empty() && !one_rule) words = "in " + parts[part].name + " " + words;
    }
    if (!words.empty()) text += (text.empty() ? "" : "; ") + words;
  }
  if (text.empty()) return "";
  text[0] = static_cast<char>(std::toupper(text[0]));
  return text + "\n";
}

}  // namespace ladder
