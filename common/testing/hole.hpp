// A test of one piece of an exercise, by one problem: ./ladder exercise knows it by its name, "Hole2..." of a hole, "Stage2..." of a stage.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "common/diagnosis/second_start.hpp"
#include "common/judge/operator.hpp"
#include "common/testing/tests.hpp"

namespace ladder::testing {

// Says in the report that this test makes a call fail: whatever follows in the kernel is the test's doing, and is not shown to a learner.
inline void injects_a_failure() {
  ::testing::Test::RecordProperty("injects_a_failure", 1);
}

// Adds the test `name`, registered before the suite's own and so run before them: it runs the implementation on that case under one
// schedule; the suite's cases share all of them.
inline bool register_hole(const std::string& implementation, const std::string& name,
                          const std::string& op, const Shape& shape, const Options& options = {},
                          const Caller& caller = {}, const std::string& storage = "fp32") {
  const auto is_right = [=](const Implementation& i) {
    const auto problem = case_of(op, shape, options, storage, caller)->make();
    const auto placed = problem->place(device(i.device), i);
    placed->call();
    device(i.device).synchronize();
    const Arithmetic arithmetic = arithmetic_of(i, storage);
    const Verdict verdict = placed->judge(arithmetic, false);
    EXPECT_TRUE(verdict.right) << named(verdict, *placed, arithmetic);
  };
  // What 2 bytes are is said to the loop, which shows numbers; without sizes, for it takes the smallest case with sizes as a plain one.
  add(implementation, name, is_right, 0, storage == "fp32" ? "" : "; ; " + storage);
  return true;
}

}  // namespace ladder::testing
