// A test of one hole of an exercise, by one problem: ./ladder exercise knows it by its name, "Hole2...".
#pragma once

#include <cuda_runtime.h>
#include <gtest/gtest.h>

#include <string>

#include "common/core/operator.hpp"
#include "common/diagnosis/second_start.hpp"
#include "common/testing/tests.hpp"

#ifdef EMULATOR_LAUNCH
#include "emulator/emulator.hpp"
#endif

namespace warmup {

// For a test that knows better: what the X-ray has found so far is no mistake of the learner's.
inline void forget_what_the_xray_saw() {
#ifdef EMULATOR_LAUNCH
  emulator::forget_recorded();
#endif
}

// Adds the test `name`, registered before the suite's own and so run before them: it runs the implementation on that case under one
// schedule; the suite's cases share all of them.
inline bool register_hole(const std::string& implementation, const std::string& name,
                          const std::string& op, const ladder::Shape& shape,
                          const ladder::Options& options = {},
                          const ladder::testing::Caller& caller = {},
                          const std::string& storage = "fp32") {
  const auto is_right = [=](const ladder::Implementation& i) {
    const auto problem = ladder::testing::case_of(op, shape, options, storage, caller)->make();
    const auto placed = problem->place(ladder::device(i.device), i);
    placed->call();
    ladder::device(i.device).synchronize();
    const ladder::Arithmetic arithmetic = ladder::arithmetic_of(i, storage);
    const ladder::Verdict verdict = placed->judge(arithmetic, false);
    EXPECT_TRUE(verdict.right) << ladder::named(verdict, *placed, arithmetic);
  };
  ladder::testing::add(implementation, name, is_right, 0);
  return true;
}

}  // namespace warmup
