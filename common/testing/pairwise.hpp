// Pairwise test design: a short list of rows in which every two values of every two factors meet at least once.
#pragma once

#include <cstddef>
#include <vector>

namespace ladder::testing {

// level_counts[f] is the number of values factor f can take; a row holds one index per factor.
std::vector<std::vector<std::size_t>> pairwise_rows(const std::vector<std::size_t>& level_counts);

// Every combination.
std::vector<std::vector<std::size_t>> all_rows(const std::vector<std::size_t>& level_counts);

}  // namespace ladder::testing
