#include <gtest/gtest.h>

#include "common/operators/linear_attention/operator.hpp"
#include "common/testing/tests.hpp"

namespace {

using ladder::LinearAttentionCase;

// 16 heads of 64 columns are 128 blocks of 8 columns, 17 are 136: on a GPU of 132 multiprocessors one kernel takes the first,
// the other the second; each has a suite of its own.
// One order of threads is enough for so many cases: the suite, with its borders, asks for the others.
TEST(linear_attention_shared_mem, MatchesReferenceOnBothSidesOfItsThreshold) {
  if (ladder::testing::device_is_missing({.device = ladder::DeviceKind::kCuda})) return;
  const auto implementation = ladder::find_implementation("linear_attention_shared_mem");
  for (const std::int64_t H : {3, 16, 17, 40}) {
    for (const bool normalize : {false, true}) {
      LinearAttentionCase c{.B = 1, .T_q = 37, .T_k = 33, .H = H, .K = 64, .V = 64};
      c.normalize = normalize;
      c.key_lengths = true;
      const auto problem = ladder::make_problem(c);
      EXPECT_TRUE(ladder::testing::is_right(problem, ladder::run(implementation, problem)))
          << name_of(c);
    }
  }
}

}  // namespace
