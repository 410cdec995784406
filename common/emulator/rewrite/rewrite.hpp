// CUDA C++ to C++: rewrites only launches and shared variables; every other byte, and every line number, stays.
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>

namespace emulator {

// what() reads "FILE:LINE: sentence".
struct RewriteError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// `source` is CUDA C++ text; `file` appears in messages and in the leading #line. Throws RewriteError for what it
// cannot rewrite.
std::string rewrite(std::string_view source, const std::string& file);

}  // namespace emulator
