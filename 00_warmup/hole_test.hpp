// A test for one hole of an exercise: it is right as soon as that hole, and those before it, are filled.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "common/core/operator.hpp"
#include "common/testing/tests.hpp"

namespace chapter00 {

// Registered before the suite's own tests, and so run before them.
inline bool add_hole_test(const std::string& op, const std::string& implementation,
                          const std::string& test, const ladder::Shape& shape,
                          const ladder::Options& options = {}) {
  ladder::testing::add(implementation, test, [=](const ladder::Implementation& i) {
    const auto problem = ladder::find_operator(op).make_case(shape, options, "fp32")->make();
    const auto placed = problem->place(ladder::device(i.device), i);
    placed->call();
    ladder::device(i.device).synchronize();
    EXPECT_TRUE(ladder::testing::is_right(placed->judge(ladder::arithmetic_of(i, "fp32"), false)));
  });
  return true;
}

}  // namespace chapter00
