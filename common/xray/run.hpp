// Runs implementations under the X-ray.
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
  bool too_large = false;        // stopped at the limit, so the counts cover part of the run
  bool stopped = false;          // a launch failed, with the same consequence
  bool right = false;            // the result, compared with float64
  std::string message;           // the error, or empty
  std::uint64_t host_bytes = 0;  // written by cudaMemset and cudaMemcpy
};

// Accesses and basic blocks of single threads. A larger launch would take minutes.
constexpr std::uint64_t kMostAccesses = 200'000'000;

// Builds the message for a wrong result.
using Explained = std::function<std::string(const Verdict&, const Placed&, Arithmetic)>;

// From now on bulk copies and products complete late, so that the picture over time shows waits.
void let_copies_come_late();

// Runs the implementation once. std::invalid_argument if it does not support the problem.
XrayRun xray(const Implementation& implementation, const Problem& problem,
             const Explained& explained, std::uint64_t most_accesses = kMostAccesses);

}  // namespace ladder
