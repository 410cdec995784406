// The judge's verdict as a GoogleTest assertion: EXPECT_TRUE(is_right(problem, outputs)).
#pragma once

#include <gtest/gtest.h>

#include "common/operators/judge.hpp"
#include "common/testing/tests.hpp"

namespace ladder::testing {

template <typename Problem, typename Outputs>
::testing::AssertionResult is_right(const Problem& problem, const Outputs& outputs,
                                    Arithmetic arithmetic = Arithmetic::kFp32) {
  return is_right(reference::judge(problem, outputs, arithmetic));
}

}  // namespace ladder::testing
