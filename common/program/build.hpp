// How this program came to be: what a measured number is worthless without.
#pragma once

#include <string>

namespace ladder::program {

// "GNU 12.2.0", as CMake found the compiler that this program is built with.
std::string compiler();
// "NVIDIA 13.0.88"; empty where this program's kernels are not compiled by nvcc.
std::string cuda_compiler();

// The commit that is checked out in a folder, "587d8da", or "587d8da-dirty" where sources differ from it or are new (docs/ holds
// results, no sources). Empty where git does not know.
std::string commit_of(const std::string& folder);

// The repository this program is built from.
std::string source_folder();

}  // namespace ladder::program
