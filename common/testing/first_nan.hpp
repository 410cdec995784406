// Where a NaN arises.
#pragma once

namespace ladder::testing {

// With LADDER_TRACE_NAN in the environment, from now on each operation on the calling thread that makes a NaN of numbers prints a
// line, "nan: CODE CALL CALL... in block (0, 0, 0), thread (3, 0, 0)": addresses in the program, the innermost first. A NaN that was
// there before, such as memory that nobody has written, is not one of them. On Linux for x86-64; elsewhere nothing is printed.
void trace_nans();

}  // namespace ladder::testing
