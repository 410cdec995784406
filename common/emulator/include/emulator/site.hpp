// The call site of a function. clang before 16 does not have std::source_location.
#pragma once

namespace emulator {

struct Site {
  const char* file;
  int line;

  static constexpr Site current(const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
    return {file, line};
  }
};

namespace detail {

// The false condition of a static_assert in a template that only wrong calls instantiate.
template <typename...>
inline constexpr bool kNever = false;

}  // namespace detail
}  // namespace emulator
