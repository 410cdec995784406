// Where a call stands. emulator::Site in all but name, which clang before 16 does not have.
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

// The condition of a static_assert in a template that only wrong calls come to.
template <typename...>
inline constexpr bool kNever = false;

}  // namespace detail
}  // namespace emulator
