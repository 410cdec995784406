// Results for the judge's self-test, the stored truth with one wrong row or element. Other wrong
// results come from the operators' mistakes (common/judge/mistakes.hpp).
#pragma once

#include <string>
#include <vector>

#include "common/judge/judging.hpp"

namespace ladder::testing {

struct Planted {
  std::string fault;
  std::vector<float> values;
};

// The values rounded to the storage of the part's array.
std::vector<float> stored(const Part& part, const std::vector<double>& values);

// "row" means that the largest row comes from the next head, "element" that its largest element is
// wrong by a tenth of its terms, in fp32 by 1e-4.
std::vector<Planted> planted_in(const Part& part, bool fp32);

}  // namespace ladder::testing
