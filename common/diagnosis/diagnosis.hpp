// The name of a wrong result: the known mistake that gives it, else what can be read from its numbers. Called when a test or the program
// has found a result wrong.
#pragma once

#include <string>

#include "common/core/operator.hpp"
#include "common/judge/mistakes.hpp"

namespace ladder {

// What a wrong result is compared with: what one mistake gives, or on a case that is made for it two of them together.
enum class Search { kOne, kTwo };

// A sentence such as "It equals the result with the bonus forgotten.", and a line's end; "" where nothing fits.
std::string diagnosis(const Examined& wrong, Search search = Search::kOne);

// The verdict's message, with the name of the mistake in it. With LADDER_NO_NAMES in the environment none is looked for: who asks which of
// many cases are wrong does not ask why.
std::string explained(const Verdict& verdict, const AnyOnDevice& result, Arithmetic arithmetic,
                      Search search);
// The same as a function that others are handed.
inline std::string by_name(const Verdict& verdict, const AnyOnDevice& result,
                           Arithmetic arithmetic) {
  return explained(verdict, result, arithmetic, Search::kOne);
}
std::string explained(const Verdict& verdict, const Examine& examine, Search search = Search::kOne);

}  // namespace ladder
