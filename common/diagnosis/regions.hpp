// Finds steps with wrong shares, such as a step's own, earlier ones, or all after a block's end. An
// output of a step is a sum over the steps of an input, and the factors are its shares.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace ladder {

using Shares = std::vector<double>;  // (queries, keys)

struct SharesOfHead {
  Shares yours, right;
  std::int64_t queries, keys;
  double noise = 0;  // possible error of a right share
};

struct SaidOfShares {
  std::string words = {};  // "" if there are none
  bool exact = false;      // the words determine the shares
};

// Words for wrong shares, or none if all are wrong or all right. If rows are divided by the sum of
// their shares, one wrong share changes all of them, so proportions are compared. `query` and `key`
// name the axes ("step", "step" or "query", "key").
SaidOfShares explain_shares(const SharesOfHead& shares, const std::string& input,
                            const std::string& query, const std::string& key);

// "4 to 31", "1, 3, 5, 7, ... 31", "0, 7 and 9", "0 to 3 and 8 to 11", "0 to 130 without 8 to 15".
std::string list_of(const std::vector<std::int64_t>& indices);

}  // namespace ladder
