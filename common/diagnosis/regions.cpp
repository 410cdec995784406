#include "common/diagnosis/regions.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>

#include "common/judge/judging.hpp"

namespace ladder {

namespace {

struct Run {
  std::int64_t first, last;
};

std::string text_of(const Run& run) {
  const std::string first = std::to_string(run.first);
  return run.first == run.last ? first : first + " to " + std::to_string(run.last);
}

// The first runs and the last. Dots are used only if the pattern continues.
std::string list_of(const std::vector<Run>& runs) {
  constexpr std::size_t kMostSaid = 4;
  std::string text = text_of(runs.front());
  const bool all = runs.size() <= kMostSaid;
  for (std::size_t n = 1; n < (all ? runs.size() - 1 : kMostSaid); ++n)
    text += ", " + text_of(runs[n]);
  bool goes_on = true;
  for (std::size_t n = 1; n < runs.size(); ++n) {
    const std::int64_t longer = (runs[n].last - runs[n].first) - (runs[0].last - runs[0].first);
    goes_on = goes_on && runs[n].first - runs[n - 1].first == runs[1].first - runs[0].first &&
              (longer == 0 || (longer < 0 && n + 1 == runs.size()));
  }
  if (runs.size() == 1) return text;
  return text +
         (all       ? " and "
          : goes_on ? ", ... "
                    : " and others up to ") +
         (all || goes_on ? text_of(runs.back()) : std::to_string(runs.back().last));
}

}  // namespace

std::string list_of(const std::vector<std::int64_t>& rows) {
  constexpr std::size_t kFewestOfRun = 3, kMostGaps = 4;
  const bool one_by_one = rows.size() < kFewestOfRun;
  std::vector<Run> runs, gaps;
  for (const std::int64_t row : rows) {
    if (!runs.empty() && !one_by_one && runs.back().last == row - 1) {
      runs.back().last = row;
      continue;
    }
    if (!runs.empty() && runs.back().last < row - 1)
      gaps.push_back({runs.back().last + 1, row - 1});
    runs.push_back({row, row});
  }
  const std::int64_t span = rows.back() - rows.front() + 1, count = std::ssize(rows);
  // Few numbers are listed, as "1 and 3", not "1 to 3 without 2".
  if (gaps.empty() || gaps.size() > kMostGaps || runs.size() == rows.size() ||
      2 * (span - count) > count)
    return list_of(runs);
  return text_of({rows.front(), rows.back()}) + " without " + list_of(gaps);
}

namespace {

constexpr double kCloseShare = 2e-3;  // relative to the largest share of a row

// Pairs of a query and a key.
struct Region {
  std::string words;
  std::function<bool(std::int64_t t, std::int64_t s)> has;
};

// Only with as many keys as queries are keys earlier or later than a query.
std::vector<Region> regions(const std::string& key, std::int64_t queries, std::int64_t count) {
  const std::string keys = key + "s";
  std::vector<Region> list;
  if (queries == count) {
    list = {{"its own " + key, [](auto t, auto s) { return s == t; }},
            {"the " + key + " before it", [](auto t, auto s) { return s == t - 1; }}};
  }
  for (std::int64_t one = 0; one < count; ++one)
    list.push_back({key + " " + std::to_string(one), [one](auto, auto s) { return s == one; }});
  if (queries != count) return list;
  for (const std::int64_t block : {16, 32, 64, 8, 4}) {  // the usual ones first
    if (block >= queries) continue;
    const std::string kind = block == 4 ? "unit" : "block";  // the pages' word
    const std::string of = std::to_string(block) + " " + keys;
    const auto begin = [block](std::int64_t t) { return t / block * block; };
    const std::vector<Region> of_blocks = {
        {"its own " + kind + " of " + of + ", where that is not the first " + kind,
         [=](auto t, auto s) { return t >= block && s >= begin(t) && s < begin(t) + block; }},
        {"the earlier " + keys + " of its own " + kind + " of " + std::to_string(block),
         [=](auto t, auto s) { return s >= begin(t) && s < t; }},
        {"its own " + kind + " of " + of,
         [=](auto t, auto s) { return s >= begin(t) && s < begin(t) + block; }},
        {"the " + keys + " before its own " + kind + " of " + std::to_string(block),
         [=](auto t, auto s) { return s < begin(t); }},
        {"the " + keys + " that lie two or more " + kind + "s of " + std::to_string(block) +
             " back",
         [=](auto t, auto s) { return s < begin(t) - block; }},
    };
    list.insert(list.end(), of_blocks.begin(), of_blocks.end());
  }
  list.push_back({"earlier " + keys, [](auto t, auto s) { return s < t; }});
  list.push_back({"later " + keys, [](auto t, auto s) { return s > t; }});
  return list;
}

// Compares shares with the right ones.
class Comparison {
 public:
  // With `proportions`, each row of `yours` is scaled so that most of it is right.
  Comparison(const SharesOfHead& shares, bool proportions)
      : shares_(shares), yours_(shares.yours), proportions_(proportions) {
    for (std::int64_t t = 0; t < shares.queries; ++t) {
      close_.push_back(std::max(kCloseShare * largest(shares.right, t), shares.noise));
      if (proportions) factors_.push_back(scale(t));
      close_[t] += kCloseShare / 10 * largest(yours_, t);
    }
  }

  struct Count {
    std::int64_t wrong_inside = 0, wrong_outside = 0, inside = 0;
  };
  Count count(const Region& region) const {
    Count found;
    for_each([&](double yours, double right, double close, std::int64_t t, std::int64_t s) {
      const bool wrong = !(std::abs(yours - right) <= close), in = region.has(t, s);
      found.inside += in;
      found.wrong_inside += wrong && in;
      found.wrong_outside += wrong && !in;
    });
    return found;
  }

  // The common factor of all shares in the region, or NaN if there is none.
  double factor_in(const Region& region) const {
    double product = 0, square = 0;
    for_each([&](double yours, double right, double, std::int64_t t, std::int64_t s) {
      if (!region.has(t, s)) return;
      product += yours * right;
      square += right * right;
    });
    if (square == 0) return std::nan("");
    const double factor = product / square;
    bool same = true;
    for_each([&](double yours, double right, double close, std::int64_t t, std::int64_t s) {
      if (region.has(t, s))
        same = same && std::abs(yours - factor * right) <= close * std::max(1.0, factor);
    });
    return same ? factor : std::nan("");
  }

  bool proportions() const { return proportions_; }

  // Whether most rows with a wrong share have several right ones. Two may be right by chance.
  bool proportions_show() const {
    std::vector<std::int64_t> wrong(static_cast<std::size_t>(shares_.queries), 0), right = wrong;
    for_each([&](double yours, double of_truth, double close, std::int64_t t, std::int64_t) {
      ++(std::abs(yours - of_truth) <= close ? right : wrong)[static_cast<std::size_t>(t)];
    });
    std::int64_t rows = 0, shown = 0;
    for (std::size_t t = 0; t < wrong.size(); ++t) {
      rows += wrong[t] > 0;
      shown += wrong[t] > 0 && (right[t] > 2 || right[t] > wrong[t]);
    }
    return 2 * shown >= rows;
  }

  // Whether most rows with a wrong share have several outside, whose proportions are significant.
  bool has_several_outside(const Region& region) const {
    std::vector<std::int64_t> outside(static_cast<std::size_t>(shares_.queries), 0),
        wrong = outside;
    for_each([&](double yours, double right, double close, std::int64_t t, std::int64_t s) {
      wrong[static_cast<std::size_t>(t)] += !(std::abs(yours - right) <= close);
      outside[static_cast<std::size_t>(t)] += !region.has(t, s);
    });
    std::int64_t rows = 0, several = 0;
    for (std::size_t t = 0; t < wrong.size(); ++t) {
      rows += wrong[t] > 0;
      several += wrong[t] > 0 && outside[t] > 2;
    }
    return 2 * several >= rows;
  }

  // The first row with a factor, as "o of step 3 is 0.7 times what it should be".
  std::string first_factor(const std::string& query) const {
    const auto wrong = std::find_if(factors_.begin(), factors_.end(), [this](const double& factor) {
      return std::abs(factor - 1) > 2 * kCloseShare && shows_in_all_blocks(&factor - &factors_[0]);
    });
    if (wrong == factors_.end()) return "";
    return "what " + query + " " + std::to_string(wrong - factors_.begin()) + " takes is " +
           short_number(1 / *wrong) + " times what it should be";
  }

 private:
  // Whether each block of keys with a share shows that the row's factor is not 1.
  bool shows_in_all_blocks(std::int64_t t) const {
    constexpr std::int64_t kBlock = 16;
    for (std::int64_t first = 0; first < shares_.keys; first += kBlock) {
      double most = 0;
      for (std::int64_t s = first; s < std::min(first + kBlock, shares_.keys); ++s)
        most = std::max(most, std::abs(shares_.right[t * shares_.keys + s]));
      if (most > close_[t] && std::abs(1 / factors_[t] - 1) * most <= close_[t]) return false;
    }
    return true;
  }

  double largest(const Shares& of, std::int64_t t) const {
    double most = 0;
    for (std::int64_t s = 0; s < shares_.keys; ++s)
      most = std::max(most, std::abs(of[t * shares_.keys + s]));
    return most;
  }

  // Scales the row so that most of it is right.
  double scale(std::int64_t t) {
    double* yours = &yours_[t * shares_.keys];
    const double* right = &shares_.right[t * shares_.keys];
    const auto is_one = [&](std::int64_t s) { return std::abs(right[s]) > close_[t]; };
    const auto right_by = [&](double factor) {
      std::int64_t count = 0;
      for (std::int64_t s = 0; s < shares_.keys; ++s)
        count += is_one(s) && std::abs(factor * yours[s] - right[s]) <= close_[t];
      return count;
    };
    double best = 1;
    for (std::int64_t s = 0; s < shares_.keys; ++s) {
      const double factor = right[s] / yours[s];
      if (is_one(s) && std::isfinite(factor) && right_by(factor) > right_by(best)) best = factor;
    }
    std::for_each(yours, yours + shares_.keys, [=](double& x) { x *= best; });
    return best;
  }

  // visit(yours, right, close, t, s) for each pair with a share in either.
  template <typename Visit>
  void for_each(const Visit& visit) const {
    for (std::int64_t t = 0; t < shares_.queries; ++t) {
      for (std::int64_t s = 0; s < shares_.keys; ++s) {
        const double yours = yours_[t * shares_.keys + s],
                     right = shares_.right[t * shares_.keys + s];
        if (std::max(std::abs(yours), std::abs(right)) > close_[t])
          visit(yours, right, close_[t], t, s);
      }
    }
  }

  const SharesOfHead& shares_;
  Shares yours_;
  bool proportions_;
  std::vector<double> close_, factors_;  // per row
};

SaidOfShares explain(const Comparison& comparison, const SharesOfHead& shares,
                     const std::string& input, const std::string& query, const std::string& key,
                     const std::string& rest) {
  const Region* found = nullptr;
  std::int64_t smallest = 0;
  const std::vector<Region> list = regions(key, shares.queries, shares.keys);
  for (const Region& region : list) {
    const Comparison::Count count = comparison.count(region);
    if (count.wrong_outside > 0 || 2 * count.wrong_inside <= count.inside) continue;
    if (comparison.proportions() && !comparison.has_several_outside(region)) continue;
    if (found && count.inside >= smallest) continue;
    found = &region;
    smallest = count.inside;
  }
  if (!found) return {};
  const std::string of = input + " of " + found->words;
  const double factor = comparison.factor_in(*found);
  if (std::abs(factor) < kCloseShare)
    return {"A " + query + " takes nothing from " + of + "; " + rest, true};
  if (std::isfinite(factor) &&
      comparison.proportions()) {  // either of the two may be the wrong one
    return {
        "Beside all else, what a " + query + " takes from " + of + " is " + short_number(factor) +
            " times what it should be. Either that is wrong, or all else is " +
            short_number(1 / factor) + " times what it should be: it is divided by the sum of both",
        true};
  }
  const std::string words = "What a " + query + " takes from " + of + " is wrong; " + rest;
  if (std::isnan(factor)) return {words, false};
  // Only one element per key was changed, and others may have other factors.
  return {words + ". Of the one element of each " + key + " that was tried it is " +
              short_number(factor) + " times what it should be",
          true};
}

// Whether all rows have the same sum of right shares, because they are normalised, as in softmax.
bool add_up_alike(const SharesOfHead& shares) {
  std::vector<double> sums(static_cast<std::size_t>(shares.queries), 0.0);
  for (std::int64_t t = 0; t < shares.queries; ++t) {
    const auto row = shares.right.begin() + t * shares.keys;
    sums[static_cast<std::size_t>(t)] = std::accumulate(row, row + shares.keys, 0.0);
  }
  const auto [least, most] = std::minmax_element(sums.begin(), sums.end());
  return *most - *least <= kCloseShare * std::abs(*most);
}

}  // namespace

SaidOfShares explain_shares(const SharesOfHead& shares, const std::string& input,
                            const std::string& query, const std::string& key) {
  const Region all = {"", [](auto, auto) { return true; }};
  const Comparison own(shares, false);
  if (own.count(all).wrong_inside == 0) return {};
  const SaidOfShares said =
      explain(own, shares, input, query, key, "all else of " + input + " is right");
  if (!said.words.empty()) return said;
  if (!add_up_alike(shares)) return {};
  const Comparison proportions(shares, true);
  if (proportions.count(all).wrong_inside > 0) {
    if (!proportions.proportions_show()) return {};
    return explain(proportions, shares, input, query, key,
                   "all else of " + input + " is in the right proportion");
  }
  if (proportions.first_factor(query).empty()) return {};
  return {"All that a " + query + " takes from " + input + " is in the right proportion, but " +
              proportions.first_factor(query) + ": what it is divided or multiplied by is wrong",
          true};
}

}  // namespace ladder
