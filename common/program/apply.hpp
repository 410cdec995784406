// ./ladder apply runs an implementation on arrays from .npy files and writes the results to others.
#pragma once

namespace ladder::program {

int apply_ladder(int argc, char** argv);

}  // namespace ladder::program
