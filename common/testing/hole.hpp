// A test of one hole, which ./ladder exercise finds by its name, such as "Hole2...", "Stage2...".
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "common/diagnosis/second_start.hpp"
#include "common/judge/operator.hpp"
#include "common/testing/tests.hpp"

namespace ladder::testing {

// Reports that this test makes a call fail, so that later errors are not shown to a learner.
inline void injects_a_failure() {
  ::testing::Test::RecordProperty("injects_a_failure", 1);
}

// Adds the test `name` before the suite's own tests, so it runs first. It runs the implementation
// on that case under one schedule.
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
  // Names only the storage, because cases.py takes the smallest test with sizes as the plain case.
  add(implementation, name, is_right, 0, storage == "fp32" ? "" : "; ; " + storage);
  return true;
}

}  // namespace ladder::testing
