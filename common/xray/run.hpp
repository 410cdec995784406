// Implementations under the X-ray.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "common/judge/operator.hpp"
#include "report.hpp"
#include "xray.hpp"

namespace ladder {

struct XrayRun {
  std::vector<emulator::xray::Subject> subjects;  // one per kernel the implementation launched
  bool too_large = false;        // stopped at the limit: the counts are of a part of the run
  bool stopped = false;          // a launch failed: here too
  bool right = false;            // the result, against float64
  std::string message;           // what is wrong; empty if nothing is
  std::uint64_t host_bytes = 0;  // what the implementation wrote by cudaMemset and cudaMemcpy
};

// A launch with more accesses and basic blocks of single threads than this would take minutes.
constexpr std::uint64_t kMostAccesses = 200'000'000;

// What a wrong result is called: the message for it.
using Explained = std::function<std::string(const Verdict&, const Placed&, Arithmetic)>;

// From now on bulk copies and products are complete as late as they may be: the picture over time shows who waits for what.
void let_copies_come_late();

// Runs the implementation once. std::invalid_argument if it refuses the problem, or has no launcher
// for it.
XrayRun xray(const Implementation& implementation, const Problem& problem,
             const Explained& explained, std::uint64_t most_accesses = kMostAccesses);

}  // namespace ladder
