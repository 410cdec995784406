#include "common/testing/pairwise.hpp"

#include <set>
#include <tuple>

namespace ladder::testing {

std::vector<std::vector<std::size_t>> pairwise_rows(const std::vector<std::size_t>& level_counts) {
  using Pair = std::tuple<std::size_t, std::size_t, std::size_t, std::size_t>;
  const std::size_t factors = level_counts.size();
  const auto pair_of = [](std::size_t f, std::size_t a, std::size_t g, std::size_t b) {
    return f < g ? Pair{f, a, g, b} : Pair{g, b, f, a};
  };
  std::set<Pair> open;
  for (std::size_t f = 0; f < factors; ++f) {
    for (std::size_t g = f + 1; g < factors; ++g) {
      for (std::size_t a = 0; a < level_counts[f]; ++a) {
        for (std::size_t b = 0; b < level_counts[g]; ++b)
          open.insert({f, a, g, b});
      }
    }
  }
  std::vector<std::vector<std::size_t>> rows;
  while (!open.empty()) {
    const auto [first, first_level, second, second_level] = *open.begin();
    std::vector<std::size_t> row(factors, 0);
    std::vector<bool> chosen(factors, false);
    row[first] = first_level;
    row[second] = second_level;
    chosen[first] = chosen[second] = true;
    for (std::size_t f = 0; f < factors; ++f) {
      if (chosen[f]) continue;
      std::size_t most = 0;
      for (std::size_t step = 0; step < level_counts[f]; ++step) {
        // Ties rotate with the row, so that values without open pairs still take turns.
        const std::size_t level = (rows.size() + step) % level_counts[f];
        std::size_t covered = 0;
        for (std::size_t g = 0; g < factors; ++g) {
          if (chosen[g]) covered += open.count(pair_of(f, level, g, row[g]));
        }
        if (step == 0 || covered > most) {
          most = covered;
          row[f] = level;
        }
      }
      chosen[f] = true;
    }
    for (std::size_t f = 0; f < factors; ++f) {
      for (std::size_t g = f + 1; g < factors; ++g)
        open.erase({f, row[f], g, row[g]});
    }
    rows.push_back(row);
  }
  return rows;
}

std::vector<std::vector<std::size_t>> all_rows(const std::vector<std::size_t>& level_counts) {
  std::vector<std::vector<std::size_t>> rows = {{}};
  for (std::size_t levels : level_counts) {
    std::vector<std::vector<std::size_t>> longer;
    for (const auto& row : rows) {
      for (std::size_t level = 0; level < levels; ++level) {
        longer.push_back(row);
        longer.back().push_back(level);
      }
    }
    rows = std::move(longer);
  }
  return rows;
}

}  // namespace ladder::testing
