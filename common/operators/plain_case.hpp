// The case on which a wrong result is looked at first: small, plain, and made so that no two mistakes give the same there.
#pragma once

#include <string>

#include "common/operators/compare.hpp"
#include "common/testing/tests.hpp"

namespace ladder::testing {

// Registers the test PlainCase, whose failure says the misconception, or the two of them, that the result equals.
template <typename Op>
void add_plain_case(const std::string& implementation, const std::string& prefix,
                    const typename Op::Case& c) {
  plain_cases<Op>()[implementation] = c;
  add(implementation, prefix + "PlainCase", [=](const Implementation& i) {
    const auto problem = Op::make_problem(c);
    const auto outputs = run_as<Op>(i, problem);
    const Arithmetic arithmetic = arithmetic_of(i, storage_of(c));
    EXPECT_TRUE(is_right(reference::judge(
        problem, outputs, arithmetic, reference::PlainLoop::kNotAskedFor, reference::Search::kTwo)))
        << name_of(c);
  });
}

}  // namespace ladder::testing
