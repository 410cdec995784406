// What a wrong kernel takes from its inputs, found by running it: one element of an input is changed at a time, and what that changes in
// the output is compared with what it changes in the truth.
#pragma once

#include <string>

#include "common/judge/mistakes.hpp"
#include "common/judge/operator.hpp"

namespace ladder {

// What a diagnosis may take of a processor: others may be at work on it. LADDER_DIAGNOSIS_SECONDS: fewer for who ends the first program
// sooner, more where a slow build must give the same words.
int diagnosis_seconds();

// Words for the n-th output: an input that is not read, the part of an input of which nothing arrives or too much, the steps whose
// share is wrong, an element that reaches other outputs than it should, or the first response that has another value; each with a line's
// end. "" where none of them is found, or where the problem is too large to be computed a hundred times in a
// tenth of the diagnosis' seconds.
std::string probed(const Problem& problem, const Implementation& wrong, Arithmetic arithmetic,
                   std::size_t output);

// Whether a mistake that gives the result was not made. Where all elements of an input have one value, the result may show nothing of the
// mistake: of a bonus u that is 0 everywhere, nobody can say whether it was forgotten. Such an input gets other values, and the kernel and
// the mistake have to agree again.
bool disproved(const Misconception& known, const Placed& result, const Implementation& wrong,
               Arithmetic arithmetic);

}  // namespace ladder
