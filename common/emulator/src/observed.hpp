// Who looks on, for the parts of the emulator that have something to tell.
#pragma once

#include "emulator/observer.hpp"

namespace emulator::detail {

// Null: nobody looks.
inline Observer* installed_observer = nullptr;

inline Observer* observer() {
  return installed_observer;
}

// While it lives, the emulator works on a CUDA thread's behalf. Every function that a kernel calls and
// that is not compiled with it begins so.
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
