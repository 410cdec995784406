// Implementations under the X-ray.
#pragma once

#include <string>
#include <vector>

#include "common/bench/selection.hpp"
#include "report.hpp"

namespace ladder::bench {

struct XrayRun {
  std::vector<emulator::xray::Subject> subjects;  // one per kernel the implementation launched
  bool too_large = false;  // stopped after kMostAccesses: the counts are of a part of the run
  bool right = false;      // the result, against float64
  std::string message;     // what is wrong; empty if nothing is
};

// A launch with more accesses of single threads than this would take minutes.
constexpr std::uint64_t kMostAccesses = 200'000'000;

// Runs the implementation once on the selection's operator and shape. std::invalid_argument if it refuses them.
XrayRun xray(const Implementation& implementation, const Selection& selection);

}  // namespace ladder::bench
