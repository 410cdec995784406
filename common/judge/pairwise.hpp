// Which combinations of options are tested: pairwise, a short list of rows in which every two values of every two factors meet
// at least once, or a draw from all combinations.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace ladder {

// A row holds one level per factor: factor f has the levels 0 to level_counts[f] - 1.
using LevelRow = std::vector<std::size_t>;

// Two levels that must not meet in a row.
struct LevelPair {
  std::size_t factor, level, other_factor, other_level;
};

std::vector<LevelRow> pairwise_rows(const std::vector<std::size_t>& level_counts,
                                    const std::vector<LevelPair>& excluded = {});

// A device's schedules of threads are one more factor of the cases, chosen last: case n runs under schedule number result[n] of
// kSchedules. `levels[n]`: what case n is made of, "T=130". Every level meets every schedule, as far as enough cases have it.
inline constexpr std::size_t kSchedules = 3;
std::vector<std::size_t> schedules_of(const std::vector<std::vector<std::string>>& levels);

// Levels that as many cases have as there are schedules, and that do not meet one of them: "T=130 under schedule 2".
std::vector<std::string> missing_schedules(const std::vector<std::vector<std::string>>& levels,
                                           const std::vector<std::size_t>& schedules);

// N different combinations drawn from a seed, or all where there are no more. The same on every platform; the first rows of a
// longer draw from the same seed.
struct Draw {
  std::size_t count;
  std::uint64_t seed;
};

std::vector<LevelRow> drawn_rows(const std::vector<std::size_t>& level_counts, const Draw& draw,
                                 const std::vector<LevelPair>& excluded = {});

// From "N:SEED". std::invalid_argument that says what is allowed.
Draw parse_draw(const std::string& text);

// LADDER_CASES=N:SEED, if the environment has it. Ends the program with a sentence where it is malformed.
std::optional<Draw> wanted_draw();

}  // namespace ladder
