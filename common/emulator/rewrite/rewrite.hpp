// CUDA C++ to C++. Only launches and shared variables are rewritten, and lines keep their numbers.
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>

namespace emulator {

// what() is "FILE:LINE: sentence".
struct RewriteError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// `file` appears in errors and in the leading #line. Throws RewriteError.
std::string rewrite(std::string_view source, const std::string& file);

}  // namespace emulator
