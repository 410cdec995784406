#include <gtest/gtest.h>

#include "common/operators/linear_attention/operator.hpp"
#include "common/testing/hole.hpp"
#include "common/testing/suite.hpp"
#include "common/testing/tests.hpp"

namespace {

// One case for each stage of scratch.cu.
const bool stages =
    ladder::testing::register_hole(
        "linear_attention_chunk_walk", "Stage1BringsAChunk", "linear_attention",
        {{"B", 2}, {"T", 5}, {"H", 3}, {"K", 20}, {"V", 36}}, {{"normalize", "false"}}) &&
    ladder::testing::register_hole(
        "linear_attention_chunk_walk", "Stage2ComputesTheScores", "linear_attention",
        {{"B", 1}, {"T", 16}, {"H", 2}, {"K", 32}, {"V", 32}}, {{"normalize", "false"}}) &&
    ladder::testing::register_hole("linear_attention_chunk_walk", "Stage3MultipliesStateAndScores",
                                   "linear_attention",
                                   {{"B", 1}, {"T", 20}, {"H", 2}, {"K", 36}, {"V", 20}}) &&
    ladder::testing::register_hole("linear_attention_chunk_walk", "Stage4StoresEveryColumn",
                                   "linear_attention",
                                   {{"B", 2}, {"T", 3}, {"H", 3}, {"K", 4}, {"V", 100}}) &&
    ladder::testing::register_hole("linear_attention_chunk_walk", "Stage5AddsTheChunkToTheState",
                                   "linear_attention",
                                   {{"B", 1}, {"T", 48}, {"H", 1}, {"K", 20}, {"V", 20}});

const bool registered = ladder::testing::register_suite(
    "linear_attention", "linear_attention_chunk_walk",
    {.sizes = {{"T", {0, 1, 16, 37}}, {"K", {4, 32, 100}}, {"V", {4, 31, 64}}},
     .plain_steps = 34,
     .nan_tile = 16,
     .borders = {{.size = "T", .at = {16, 32}},
                 {.size = "K", .at = {16, 32, 64}},
                 {.size = "V", .at = {16, 32, 64}}}});

// Only the chunk on the diagonal, where the mask alone makes the product causal.
KERNEL_TEST(linear_attention_chunk_walk, MatchesReferenceInsideOneChunk) {
  const auto implementation = ladder::find_implementation("linear_attention_chunk_walk");
  const auto problem =
      ladder::make_problem(ladder::LinearAttentionCase{.B = 1, .T_q = 11, .T_k = 11, .H = 2});
  EXPECT_TRUE(
      ladder::testing::is_right(problem, ladder::run(implementation, problem),
                                ladder::arithmetic_of(implementation, ladder::Precision::kFp32)));
}

}  // namespace
