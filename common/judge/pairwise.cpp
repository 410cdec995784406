#include "common/judge/pairwise.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
#include <iostream>
#include <map>
#include <numeric>
#include <random>
#include <set>
#include <string>
#include <system_error>
#include <tuple>
#include <utility>

#include "common/core/errors.hpp"

namespace ladder {

std::vector<LevelRow> pairwise_rows(const std::vector<std::size_t>& level_counts,
                                    const std::vector<LevelPair>& excluded) {
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
  std::set<Pair> forbidden;
  for (const LevelPair& p : excluded)
    forbidden.insert(pair_of(p.factor, p.level, p.other_factor, p.other_level));
  for (const Pair& pair : forbidden)
    open.erase(pair);
  std::vector<LevelRow> rows;
  while (!open.empty()) {
    const auto [first, first_level, second, second_level] = *open.begin();
    LevelRow row(factors, 0);
    std::vector<bool> chosen(factors, false);
    row[first] = first_level;
    row[second] = second_level;
    chosen[first] = chosen[second] = true;
    for (std::size_t f = 0; f < factors; ++f) {
      if (chosen[f]) continue;
      std::size_t most = 0;
      bool found = false;
      for (std::size_t step = 0; step < level_counts[f]; ++step) {
        // Ties rotate with the row, so that values without open pairs alternate too.
        const std::size_t level = (rows.size() + step) % level_counts[f];
        std::size_t covered = 0;
        bool allowed = true;
        for (std::size_t g = 0; g < factors; ++g) {
          if (!chosen[g]) continue;
          covered += open.count(pair_of(f, level, g, row[g]));
          allowed = allowed && forbidden.count(pair_of(f, level, g, row[g])) == 0;
        }
        if (allowed && (!found || covered > most)) {
          found = true;
          most = covered;
          row[f] = level;
        }
      }
      require(found, "pairwise: excluded pairs leave factor " + std::to_string(f) +
                         " no level; allowed: at least one beside any two that may meet");
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

namespace {

bool holds_any(const LevelRow& row, const std::vector<LevelPair>& pairs) {
  return std::any_of(pairs.begin(), pairs.end(), [&](const LevelPair& p) {
    return row[p.factor] == p.level && row[p.other_factor] == p.other_level;
  });
}

// The number of combinations, counted up to `enough`.
std::size_t count_of(const std::vector<std::size_t>& level_counts,
                     const std::vector<LevelPair>& excluded, std::size_t enough) {
  LevelRow row(level_counts.size(), 0);
  std::size_t count = 0;
  while (count < enough) {
    if (!holds_any(row, excluded)) ++count;
    std::size_t f = 0;
    while (f < row.size() && ++row[f] == level_counts[f])
      row[f++] = 0;
    if (f == row.size()) break;
  }
  return count;
}

}  // namespace

std::vector<LevelRow> drawn_rows(const std::vector<std::size_t>& level_counts, const Draw& draw,
                                 const std::vector<LevelPair>& excluded) {
  const std::size_t count = count_of(level_counts, excluded, draw.count);
  // The engine's numbers are the same everywhere, unlike those of the standard distributions.
  std::mt19937_64 engine(draw.seed);
  std::vector<LevelRow> rows;
  std::set<LevelRow> seen;
  while (rows.size() < count) {
    LevelRow row;
    for (const std::size_t levels : level_counts)
      row.push_back(static_cast<std::size_t>(engine() % levels));
    if (!holds_any(row, excluded) && seen.insert(row).second) rows.push_back(row);
  }
  return rows;
}

Draw parse_draw(const std::string& text) {
  constexpr std::size_t kMost = 1'000'000;
  Draw draw{};
  const char *first = text.data(), *end = first + text.size();
  const auto count = std::from_chars(first, end, draw.count);
  bool good = count.ec == std::errc() && count.ptr != end && *count.ptr == ':';
  if (good) {
    const auto seed = std::from_chars(count.ptr + 1, end, draw.seed);
    good = seed.ec == std::errc() && seed.ptr == end;
  }
  require(good && draw.count >= 1 && draw.count <= kMost,
          "LADDER_CASES is \"" + text + "\"; allowed: N:SEED, two whole numbers such as 200:1, N " +
              "from 1 to " + std::to_string(kMost) + ", SEED below 2^64");
  return draw;
}

std::vector<std::string> missing_schedules(const std::vector<std::vector<std::string>>& levels,
                                           const std::vector<std::size_t>& schedules) {
  std::map<std::string, std::size_t> cases;
  std::set<std::pair<std::string, std::size_t>> met;
  for (std::size_t n = 0; n < levels.size(); ++n) {
    for (const std::string& level : levels[n]) {
      ++cases[level];
      met.insert({level, schedules[n]});
    }
  }
  std::vector<std::string> missing;
  for (const auto& [level, count] : cases) {
    for (std::size_t schedule = 0; schedule < kSchedules && count >= kSchedules; ++schedule) {
      if (met.count({level, schedule}) == 0)
        missing.push_back(level + " under schedule " + std::to_string(schedule));
    }
  }
  return missing;
}

std::vector<std::size_t> schedules_of(const std::vector<std::vector<std::string>>& levels) {
  // The number of cases of each level in each schedule.
  std::map<std::string, std::array<std::size_t, kSchedules>> cases;
  std::vector<std::size_t> result;
  for (const auto& each : levels) {
    result.push_back(result.size() % kSchedules);
    for (const std::string& level : each)
      ++cases[level][result.back()];
  }
  // Then random changes that do not increase the misses, until none is left.
  std::mt19937 random(1);
  for (std::size_t tries = 0; tries < 200 * levels.size(); ++tries) {
    if (tries % levels.size() == 0 && missing_schedules(levels, result).empty()) break;
    const std::size_t n = random() % levels.size(), to = random() % kSchedules, from = result[n];
    if (to == from) continue;
    int lost = 0;
    for (const std::string& level : levels[n]) {
      const auto& its = cases[level];
      if (std::accumulate(its.begin(), its.end(), std::size_t{0}) >= kSchedules)
        lost += (its[from] == 1) - (its[to] == 0);
    }
    if (lost > 0) continue;
    for (const std::string& level : levels[n]) {
      --cases[level][from];
      ++cases[level][to];
    }
    result[n] = to;
  }
  return result;
}

std::optional<Draw> wanted_draw() {
  const char* value = std::getenv("LADDER_CASES");
  if (value == nullptr) return std::nullopt;
  try {
    return parse_draw(value);
  } catch (const std::invalid_argument& error) {
    // Suites are registered before main, where no handler would catch it.
    std::cerr << error.what() << std::endl;
    std::_Exit(2);
  }
}

}  // namespace ladder
