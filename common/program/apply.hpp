// What ./ladder apply does: an implementation on arrays that somebody has, from .npy files and into them.
#pragma once

namespace ladder::program {

// The exit code.
int apply_ladder(int argc, char** argv);

}  // namespace ladder::program
