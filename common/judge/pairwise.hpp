// Chooses combinations of options to test, pairwise with few rows that contain every two levels of
// every two factors, or a draw from all combinations.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace ladder {

// A row has one level per factor. Factor f has the levels 0 to level_counts[f] - 1.
using LevelRow = std::vector<std::size_t>;

// Two levels that may not occur together.
struct LevelPair {
  std::size_t factor, level, other_factor, other_level;
};

std::vector<LevelRow> pairwise_rows(const std::vector<std::size_t>& level_counts,
                                    const std::vector<LevelPair>& excluded = {});

// Thread schedules are one more factor, assigned last: case n runs under schedule result[n] of
// kSchedules. levels[n] are its levels ("T=130"). Each gets every schedule if it has enough cases.
inline constexpr std::size_t kSchedules = 3;
std::vector<std::size_t> schedules_of(const std::vector<std::vector<std::string>>& levels);

// Levels that have enough cases but lack a schedule, such as "T=130 under schedule 2".
std::vector<std::string> missing_schedules(const std::vector<std::vector<std::string>>& levels,
                                           const std::vector<std::size_t>& schedules);

// `count` different combinations, or all if there are fewer. The same on every platform, and a
// shorter draw with the same seed is a prefix of a longer one.
struct Draw {
  std::size_t count;
  std::uint64_t seed;
};

std::vector<LevelRow> drawn_rows(const std::vector<std::size_t>& level_counts, const Draw& draw,
                                 const std::vector<LevelPair>& excluded = {});

// Parses "N:SEED". Throws std::invalid_argument with the allowed form.
Draw parse_draw(const std::string& text);

// LADDER_CASES=N:SEED, if set. Ends the program with a message if it is malformed.
std::optional<Draw> wanted_draw();

}  // namespace ladder
