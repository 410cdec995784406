#include <gtest/gtest.h>

#include "common/operators/linear_attention/operator.hpp"
#include "common/testing/suite.hpp"
#include "common/testing/tests.hpp"

namespace {

const bool registered = ladder::testing::register_suite(
    "linear_attention", "linear_attention_chunk_walk",
    {.sizes = {{"T", {0, 1, 16, 37}}, {"K", {4, 32, 100}}, {"V", {4, 31, 64}}},
     .plain_steps = 34,
     .nan_tile = 16,
     .borders = {{.size = "T", .at = {16, 32}},
                 {.size = "K", .at = {16, 32, 64}},
                 {.size = "V", .at = {16, 32, 64}}}});

// Nothing but the chunk on the diagonal: the mask alone makes it causal.
KERNEL_TEST(linear_attention_chunk_walk, MatchesReferenceInsideOneChunk) {
  const auto implementation = ladder::find_implementation("linear_attention_chunk_walk");
  const auto problem =
      ladder::make_problem(ladder::LinearAttentionCase{.B = 1, .T_q = 11, .T_k = 11, .H = 2});
  EXPECT_TRUE(
      ladder::testing::is_right(problem, ladder::run(implementation, problem),
                                ladder::arithmetic_of(implementation, ladder::Precision::kFp32)));
}

}  // namespace
