// What ./ladder run does.
#pragma once

namespace ladder::program {

// The exit code.
int run_ladder(int argc, char** argv);

}  // namespace ladder::program
