// Which steps' shares are wrong: the step's own, those of earlier steps, those behind the end of a block. An output of a step is a sum over
// an input's steps, each with a factor: the share that the step takes from the other.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace ladder {

using Shares = std::vector<double>;  // (queries, keys)

struct SharesOfHead {
  Shares yours, right;
  std::int64_t queries, keys;
  double noise = 0;  // that a right share may be off by
};

struct SaidOfShares {
  std::string words = {};  // "" where nothing can be said
  bool exact = false;      // they say what the shares are, not only which are wrong
};

// The words for the shares that are wrong; none where they are all wrong or none is. Where each row is divided by what its shares add up to,
// one that is wrong changes all: then their proportions are compared. `query` and `key` are what the two axes are called: "step", "step"
// or "query", "key".
SaidOfShares explain_shares(const SharesOfHead& shares, const std::string& input,
                            const std::string& query, const std::string& key);

// "4 to 31", "1, 3, 5, 7, ... 31", "0, 7 and 9", "0 to 3 and 8 to 11", "0 to 130 without 8 to 15": not so few that two sets look alike.
std::string list_of(const std::vector<std::int64_t>& indices);

}  // namespace ladder
