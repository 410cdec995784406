// The installed observer, for the files that report events.
#pragma once

#include "emulator/observer.hpp"

namespace emulator::detail {

// Null without an X-ray.
inline Observer* installed_observer = nullptr;

inline Observer* observer() {
  return installed_observer;
}

// During its lifetime the emulator's code runs for a CUDA thread. Every function that kernels call
// and that is not compiled with them begins with one.
class Unobserved {
 public:
  Unobserved() : before_(observer() != nullptr && observer()->in_kernel(false)) {}
  ~Unobserved() {
    if (before_) observer()->in_kernel(true);
  }
  Unobserved(const Unobserved&) = delete;
  Unobserved& operator=(const Unobserved&) = delete;

 private:
  bool before_;
};

}  // namespace emulator::detail
