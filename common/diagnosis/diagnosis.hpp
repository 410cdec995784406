// The name of a wrong result: the known mistake that gives it, else what the kernel takes from its inputs (probe.hpp), else what can be
// read from its numbers.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "common/judge/mistakes.hpp"
#include "common/judge/operator.hpp"

namespace ladder {

// What running the kernel again says of a wrong case; see probe.hpp.
struct ByRunning {
  // Words for an output that is wrong; "" where there are none.
  std::function<std::string(std::size_t output)> words = nullptr;
  // Whether a known mistake, which gives the same results, was not made.
  std::function<bool(const Misconception&)> disproves = nullptr;
};

// A sentence such as "It equals the result with the bonus forgotten.", and a line's end; "" where nothing fits. `by_running.words` is
// asked where no known mistake does.
std::string diagnosis(const Examined& wrong, const ByRunning& by_running = {});

// Names of mistakes ("equals the result with ...") that were not made: another case, which would show them, is right.
using Excluded = std::vector<std::string>;

// The verdict's message, with the name of the mistake in it. For tests and programs: see second_start.hpp. `implementation` is what has
// computed the result; null where it cannot be run again.
std::string explained(const Verdict& verdict, const Placed& result,
                      const Implementation* implementation, Arithmetic arithmetic,
                      const Excluded& excluded = {});
std::string explained(const Verdict& verdict, const Examine& examine,
                      const ByRunning& by_running = {});

}  // namespace ladder
