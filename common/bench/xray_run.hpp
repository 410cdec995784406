// Implementations under the X-ray.
#pragma once

#include <string>
#include <vector>

#include "common/bench/selection.hpp"
#include "report.hpp"

namespace ladder::bench {

struct XrayRun {
  std::vector<emulator::xray::Subject> subjects;  // one per kernel the implementation launched
  bool too_large = false;  // stopped at the limit: the counts are of a part of the run
  bool stopped = false;    // a launch failed: here too
  bool right = false;      // the result, against float64
  std::string message;     // what is wrong; empty if nothing is
};

// A launch with more accesses and basic blocks of single threads than this would take minutes.
constexpr std::uint64_t kMostAccesses = 200'000'000;

// Runs the implementation once on the selection's operator and shape. std::invalid_argument if it refuses them.
XrayRun xray(const Implementation& implementation, const Selection& selection,
             std::uint64_t most_accesses = kMostAccesses);

// How many accesses and basic blocks its largest launch will make, from runs of one and two time steps: never too high where
// each further step costs at least as much as the second. 0 if that cannot be said.
std::uint64_t estimated_accesses(const Implementation& implementation, const Selection& selection);

}  // namespace ladder::bench
