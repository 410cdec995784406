#include <gtest/gtest.h>

#include "common/operators/linear_attention/operator.hpp"
#include "common/testing/tests.hpp"

namespace {

using ladder::LinearAttentionCase;

// 16 heads of 64 columns are 128 blocks of 8 columns, and 17 heads are 136. On a GPU of 132 SMs the
// two are therefore computed by different kernels, each of which has its own suite. One order of
// threads is enough for so many cases, because the suite runs its borders in the others.
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
