// For tests: the emulator as a smaller device. Files that no emulator is built with may include this.
#pragma once

#include <cstdlib>
#include <string>

namespace emulator {

// While it lives, the emulator's environment says so; afterwards what it said before.
class SmallerDevice {
 public:
  static constexpr const char* kMultiprocessors = "EMULATOR_MULTIPROCESSORS";  // 1 to 132
  static constexpr const char* kSharedMemoryKb = "EMULATOR_SHARED_MEMORY_KB";  // 48 to 227

  SmallerDevice(const char* variable, const char* value) : variable_(variable) {
    if (const char* const before = std::getenv(variable)) before_ = before;
    setenv(variable, value, 1);
  }
  ~SmallerDevice() {
    before_.empty() ? unsetenv(variable_) : setenv(variable_, before_.c_str(), 1);
  }
  SmallerDevice(const SmallerDevice&) = delete;
  SmallerDevice& operator=(const SmallerDevice&) = delete;

 private:
  const char* variable_;
  std::string before_;
};

}  // namespace emulator
