// The name of a wrong result: the known mistake that gives it, else what can be read from its numbers.
#pragma once

#include <string>

#include "common/core/operator.hpp"
#include "common/judge/mistakes.hpp"

namespace ladder {

// What a wrong result is compared with: what one mistake gives, or on a case that is made for it two of them together.
enum class Search { kOne, kTwo };

// A sentence such as "It equals the result with the bonus forgotten.", and a line's end; "" where nothing fits.
std::string diagnosis(const Examined& wrong, Search search = Search::kOne);

// The verdict's message, with the name of the mistake in it. For tests and programs: see second_start.hpp.
std::string explained(const Verdict& verdict, const AnyOnDevice& result, Arithmetic arithmetic,
                      Search search);
std::string explained(const Verdict& verdict, const Examine& examine, Search search = Search::kOne);

}  // namespace ladder
