// Finds where a NaN arises.
#pragma once

namespace ladder::testing {

// With LADDER_TRACE_NAN set, each later operation of the calling thread that makes a NaN from
// numbers prints a line like "nan: CODE CALL CALL... in block (0, 0, 0), thread (3, 0, 0)". The
// addresses are in the program, the innermost first. NaNs that already exist, such as unwritten
// memory, are not reported. Prints nothing except on Linux for x86-64.
void trace_nans();

}  // namespace ladder::testing
