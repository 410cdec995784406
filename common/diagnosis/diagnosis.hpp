// The name of a wrong result: the known mistake that gives it, else what the kernel takes from its inputs (probe.hpp), else what can be
// read from its numbers.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "common/core/operator.hpp"
#include "common/judge/mistakes.hpp"

namespace ladder {

// Words for the n-th output of a case, which is wrong, found by running the kernel; "" where there are none.
using ByRunning = std::function<std::string(std::size_t output)>;

// A sentence such as "It equals the result with the bonus forgotten.", and a line's end; "" where nothing fits. `by_running` is asked
// where no known mistake does.
std::string diagnosis(const Examined& wrong, const ByRunning& by_running = nullptr);

// Names of mistakes ("equals the result with ...") that were not made: another case, which would show them, is right.
using Excluded = std::vector<std::string>;

// The verdict's message, with the name of the mistake in it. For tests and programs: see second_start.hpp. `implementation` is what has
// computed the result; null where it cannot be run again.
std::string explained(const Verdict& verdict, const AnyOnDevice& result,
                      const Implementation* implementation, Arithmetic arithmetic,
                      const Excluded& excluded = {});
std::string explained(const Verdict& verdict, const Examine& examine,
                      const ByRunning& by_running = nullptr);

}  // namespace ladder
