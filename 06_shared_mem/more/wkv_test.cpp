#include <gtest/gtest.h>

#include "common/operators/wkv/operator.hpp"
#include "common/testing/tests.hpp"

namespace {

using ladder::Precision;
using ladder::WkvCase;
using ladder::WkvProblem;

// Up to 256 key rows one kernel is used, and for more the other. Each has its own suite. One order
// of threads is enough for so many cases, because the suite runs its borders in the others.
TEST(wkv_recurrent, MatchesReferenceOnBothSidesOfItsThreshold) {
  if (ladder::testing::device_is_missing({.device = ladder::DeviceKind::kCuda})) return;
  const auto implementation = ladder::find_implementation("wkv_recurrent");
  for (const std::int64_t K : {64, 256, 257, 300}) {
    for (const auto precision : {Precision::kFp32, Precision::kBf16, Precision::kBf16Fp32Decay}) {
      WkvCase c{.B = 1, .T = 6, .H = 2, .K = K, .V = 33};
      c.initial_state = c.final_state = c.reverse = true;
      c.precision = precision;
      const WkvProblem problem = make_problem(c);
      EXPECT_TRUE(ladder::testing::is_right(problem, run(implementation, problem))) << name_of(c);
    }
  }
}

}  // namespace
