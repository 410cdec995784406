// Finds out how a wrong kernel uses its inputs, by running it with one element changed at a time
// and comparing the changes in the output with those in the truth.
#pragma once

#include <string>

#include "common/judge/mistakes.hpp"
#include "common/judge/operator.hpp"

namespace ladder {

// The processor time of a diagnosis, which does not depend on other load. LADDER_DIAGNOSIS_SECONDS
// sets it, fewer for quick answers, more for the same words in a slow build.
int diagnosis_seconds();

// Words for the n-th output, in lines. They name an input that is not read, a part of an input with
// no effect or a wrong factor, steps whose share is wrong, an element that reaches wrong outputs,
// or the first response with a wrong value. "" if none is found, or if the problem is too large to
// be computed a hundred times in a tenth of the diagnosis' seconds.
std::string probed(const Problem& problem, const Implementation& wrong, Arithmetic arithmetic,
                   std::size_t output);

// Whether a mistake that gives the same result was not made. An input with equal elements may hide
// the mistake. A bonus u of zeros cannot show whether u was forgotten. Such an input gets other
// values, for which the kernel and the mistake must agree again.
bool disproved(const Misconception& known, const Placed& result, const Implementation& wrong,
               Arithmetic arithmetic);

}  // namespace ladder
