// The name of a wrong result. It is the known mistake that gives it, or how the kernel uses its
// inputs (probe.hpp), or a pattern in its numbers.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "common/judge/mistakes.hpp"
#include "common/judge/operator.hpp"

namespace ladder {

// The results of running the kernel of a wrong case again (probe.hpp).
struct ByRunning {
  // Words for a wrong output, or "".
  std::function<std::string(std::size_t output)> words = nullptr;
  // Whether a known mistake with the same results was not made.
  std::function<bool(const Misconception&)> disproves = nullptr;
};

// A sentence such as "It equals the result with the bonus forgotten." and a newline, or "".
// `by_running.words` is used if no known mistake fits.
std::string diagnosis(const Examined& wrong, const ByRunning& by_running = {});

// Names of mistakes ("equals the result with ...") that a right case has disproved.
using Excluded = std::vector<std::string>;

// The same for a wrong result. Tests and programs use second_start.hpp instead. `implementation`
// computed the result, and is null if it cannot be run again.
std::string diagnosis(const Placed& result, const Implementation* implementation,
                      Arithmetic arithmetic, const Excluded& excluded = {});

// The verdict's message, with the name of the mistake.
std::string explained(const Verdict& verdict, const Placed& result,
                      const Implementation* implementation, Arithmetic arithmetic,
                      const Excluded& excluded = {});
std::string explained(const Verdict& verdict, const Examine& examine);

}  // namespace ladder
