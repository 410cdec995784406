// Bad input is rejected with a sentence that names the argument and the allowed values.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>

namespace ladder {

// The arguments are right, but this device cannot run them (too little shared memory, or too old).
// Tests skip such a case, and the ladder continues.
struct NotOnThisDevice : std::invalid_argument {
  using std::invalid_argument::invalid_argument;
};

// Throws std::invalid_argument with `sentence` unless `condition` is true.
inline void require(bool condition, const std::string& sentence) {
  if (!condition) throw std::invalid_argument(sentence);
}

// "T is -1; allowed: 0 or more".
inline void require_at_least(const char* name, std::int64_t value, std::int64_t least) {
  if (value >= least) return;
  throw std::invalid_argument(std::string(name) + " is " + std::to_string(value) +
                              "; allowed: " + std::to_string(least) + " or more");
}

// Checks a pointer that is read or written in words of `alignment` bytes.
inline void require_pointer(const char* name, const void* pointer, std::uintptr_t alignment) {
  if (pointer == nullptr) {
    throw std::invalid_argument(std::string(name) +
                                " is a null pointer; allowed: a pointer to its whole array");
  }
  if (reinterpret_cast<std::uintptr_t>(pointer) % alignment != 0) {
    throw std::invalid_argument(std::string(name) + " is not aligned; allowed: a multiple of " +
                                std::to_string(alignment) + " bytes");
  }
}

}  // namespace ladder
