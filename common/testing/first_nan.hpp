// Finds where a NaN arises.
#pragma once

namespace ladder::testing {

// With LADDER_TRACE_NAN set, each later operation of the calling thread that makes a NaN from
// numbers prints a fact (docs/xray.md#facts), on stdout because printf is all that may be called. NaNs
// that already exist, such as unwritten memory, are not reported. Prints nothing except on Linux for
// x86-64.
void trace_nans();

}  // namespace ladder::testing
