// What chapter 00's tests of single holes have in common.
#pragma once

#include <cuda_runtime.h>

#include "common/testing/hole.hpp"

#ifdef EMULATOR_LAUNCH
#include "emulator/emulator.hpp"
#endif

namespace warmup {

using ladder::testing::register_hole;

// For a test that knows better: what the X-ray has found so far is no mistake of the learner's.
inline void forget_what_the_xray_saw() {
#ifdef EMULATOR_LAUNCH
  emulator::forget_recorded();
#endif
}

}  // namespace warmup
