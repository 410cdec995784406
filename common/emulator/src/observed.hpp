// Who looks on, for the parts of the emulator that have something to tell.
#pragma once

#include "emulator/observer.hpp"

namespace emulator::detail {

// Null: nobody looks.
Observer* observer();

// While it lives, the emulator works on a CUDA thread's behalf.
class Unobserved {
 public:
  Unobserved() {
    if (observer() != nullptr) observer()->in_kernel(false);
  }
  ~Unobserved() {
    if (observer() != nullptr) observer()->in_kernel(true);
  }
  Unobserved(const Unobserved&) = delete;
  Unobserved& operator=(const Unobserved&) = delete;
};

}  // namespace emulator::detail
