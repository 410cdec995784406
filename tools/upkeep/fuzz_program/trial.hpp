// One random problem, run by some of the implementations that have a launcher for it.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "tools/upkeep/fuzz_program/draw.hpp"

namespace ladder::fuzz {

struct Trial {
  std::string implementation, schedule;
  // right      within the judge's limits; with a bad value: it stayed where it belongs
  // refused    by a sentence that names the argument and what is allowed
  // complaint  beyond the judge's limits, but not far from the truth: kWide
  // wrong      far from the truth, or not written
  // spread     the bad value reached another head, batch or sequence
  // failed     any other exception, an unclear refusal, or memory written that is not its own
  std::string outcome = {};
  double error = 0, limit = 0;  // of the whole array
  double share = 0;             // the largest of any limit
  std::string message = {};
};

// Relative errors of whole arrays, above which a kernel is wrong whatever its limits are.
inline constexpr double kWideFp32 = 2e-5, kWide16Bit = 3e-2;

// `only`: no other implementation; empty: up to three, drawn like everything else. `announce` is told of each before it runs.
std::vector<Trial> try_out(const Draw& draw, std::uint64_t seed, std::uint64_t index,
                           const std::string& only,
                           const std::function<void(const Trial&)>& announce);

}  // namespace ladder::fuzz
