// Shared by chapter 00's tests of single holes.
#pragma once

#include <cuda_runtime.h>

#include "common/testing/hole.hpp"

#ifdef EMULATOR_LAUNCH
#include "emulator/emulator.hpp"
#endif

namespace warmup {

using ladder::testing::register_hole;

// Discards the X-ray's findings so far, where they are not the learner's mistakes in this hole.
inline void forget_what_the_xray_saw() {
#ifdef EMULATOR_LAUNCH
  emulator::forget_recorded();
#endif
}

}  // namespace warmup
