// How this program was built. A measured number is worthless without it.
#pragma once

#include <string>

namespace ladder::program {

// The compiler of this program, as CMake found it, such as "GNU 12.2.0".
std::string compiler();
// "NVIDIA 13.0.88", or empty if nvcc does not compile this program's kernels.
std::string cuda_compiler();

// The commit that is checked out in a folder, "587d8da" or "587d8da-dirty" if sources are changed
// or new (docs/ has results, not sources). Empty if git does not know it.
std::string commit_of(const std::string& folder);

// The repository from which this program is built.
std::string source_folder();

}  // namespace ladder::program
