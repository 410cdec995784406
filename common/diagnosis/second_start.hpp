// Searches for a wrong result's name in a second process of the program, so that a crash there, for
// example of a kernel that is called again, does not fail the test. The case is passed in an
// unnamed file, and the words come back through a pipe.
#pragma once

#include <string>

#include "common/diagnosis/diagnosis.hpp"
#include "common/judge/operator.hpp"

namespace ladder {

// main calls it first, otherwise there are no names. In a second start it ends the program.
void second_start(int argc, char** argv);

// The verdict's message with the name of the mistake, or with a sentence if the second start took
// too long or crashed. LADDER_NO_NAMES in the environment skips the search.
std::string named(const Verdict& verdict, const Placed& result, Arithmetic arithmetic);
std::string named_but_for(const Excluded& excluded, const Verdict& verdict, const Placed& result,
                          Arithmetic arithmetic);

}  // namespace ladder
