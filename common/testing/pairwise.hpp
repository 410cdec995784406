// Which combinations of options are tested: pairwise, a short list of rows in which every two values of every two factors meet
// at least once, or a draw from all combinations.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace ladder::testing {

// A row holds one level per factor: factor f has the levels 0 to level_counts[f] - 1.
using Row = std::vector<std::size_t>;

// Two levels that must not meet in a row.
struct LevelPair {
  std::size_t factor, level, other_factor, other_level;
};

std::vector<Row> pairwise_rows(const std::vector<std::size_t>& level_counts,
                               const std::vector<LevelPair>& excluded = {});

// N different combinations drawn from a seed, or all where there are no more. The same on every platform; the first rows of a
// longer draw from the same seed.
struct Draw {
  std::size_t count;
  std::uint64_t seed;
};

std::vector<Row> drawn_rows(const std::vector<std::size_t>& level_counts, const Draw& draw,
                            const std::vector<LevelPair>& excluded = {});

// From "N:SEED". std::invalid_argument that says what is allowed.
Draw parse_draw(const std::string& text);

}  // namespace ladder::testing
