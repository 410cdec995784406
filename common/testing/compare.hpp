// The judge's verdict as a GoogleTest assertion: EXPECT_TRUE(is_right(problem, outputs)).
#pragma once

#include <gtest/gtest.h>

#include "common/reference/judge.hpp"

namespace ladder::testing {

template <typename Problem, typename Outputs>
::testing::AssertionResult is_right(const Problem& problem, const Outputs& outputs,
                                    Arithmetic arithmetic = Arithmetic::kFp32) {
  const reference::Verdict verdict = reference::judge(problem, outputs, arithmetic);
  return verdict.right ? ::testing::AssertionSuccess()
                       : ::testing::AssertionFailure() << verdict.message;
}

}  // namespace ladder::testing
