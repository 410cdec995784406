// The name of a wrong result is looked for in a second start of the program: what goes wrong there, such as a kernel that crashes when it
// is called again, is no failure of the test. The case travels in a file that has no name, the words come back through a pipe.
#pragma once

#include <string>

#include "common/diagnosis/diagnosis.hpp"
#include "common/judge/operator.hpp"

namespace ladder {

// For main, first of all. In a second start it does the work and ends the program. A program that does not call it gives no names.
void second_start(int argc, char** argv);

// The verdict's message, with the name of the mistake in it; in its place a sentence where the second start took too long or crashed. With
// LADDER_NO_NAMES in the environment no name is looked for: who asks which of many cases are wrong does not ask why.
std::string named(const Verdict& verdict, const Placed& result, Arithmetic arithmetic);
std::string named_but_for(const Excluded& excluded, const Verdict& verdict, const Placed& result,
                          Arithmetic arithmetic);

}  // namespace ladder
