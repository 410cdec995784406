// Results for the judge's self-test: the truth as it is stored, and one row or element of it wrong. Those that are wrong in another way
// are what operators say of mistakes (common/judge/mistakes.hpp).
#pragma once

#include <string>
#include <vector>

#include "common/judge/judging.hpp"

namespace ladder::testing {

struct Planted {
  std::string fault;
  std::vector<float> values;
};

// What values are when they are stored in the part's array.
std::vector<float> stored(const Part& part, const std::vector<double>& values);

// "row": the largest row comes from the next head; "element": the largest of its elements is off by a tenth of its terms, of those in
// fp32 by 1e-4.
std::vector<Planted> planted_in(const Part& part, bool fp32);

}  // namespace ladder::testing
