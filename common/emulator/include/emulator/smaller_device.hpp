// Lets tests emulate a smaller device. Files that are not compiled for the emulator may include it.
#pragma once

#include <cstdlib>
#include <string>

namespace emulator {

// Sets the emulator's environment variable during its lifetime.
class SmallerDevice {
 public:
  static constexpr const char* kMultiprocessors = "EMULATOR_MULTIPROCESSORS";  // 1 to 132
  static constexpr const char* kSharedMemoryKb = "EMULATOR_SHARED_MEMORY_KB";  // 48 to 227
  static constexpr const char* kL2CacheKb = "EMULATOR_L2_CACHE_KB";            // 1 to 51200

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
