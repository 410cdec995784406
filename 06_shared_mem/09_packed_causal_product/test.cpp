#include <gtest/gtest.h>

#include "common/core/registry.hpp"
#include "common/operators/linear_attention/operator.hpp"
#include "common/testing/hole.hpp"
#include "common/testing/suite.hpp"
#include "common/testing/tests.hpp"

namespace {

// Few heads get blocks of 16 columns. With six such blocks per SM there are many heads, which get
// wider blocks.
const std::vector<ladder::Border> kBorders = {
    {.size = "K", .at = {32, 64, 128, 256}, .step = 4},
    {.size = "K",
     .at = {32, 48, 64, 128, 256},
     .others = {{"H", 3}},
     .step = 4,
     .multiprocessors = 1},
    {.size = "V", .at = {16, 32}, .step = 4},
    {.size = "V", .at = {32, 64}, .others = {{"H", 3}}, .step = 4, .multiprocessors = 1},
    {.size = "T", .at = {16, 32}}};

// A lane with eight rows in two parts, then a second tile of columns, and lanes with two sums each.
const bool holes =
    ladder::testing::register_hole(
        "packed_causal_product", "Hole1TakesEveryRowOnce", "linear_attention",
        {{"B", 1}, {"T", 19}, {"H", 1}, {"K", 256}, {"V", 16}}, {{"normalize", "false"}}) &&
    ladder::testing::register_hole(
        "packed_causal_product", "Hole2AddsUpTheLanes", "linear_attention",
        {{"B", 1}, {"T", 37}, {"H", 1}, {"K", 36}, {"V", 20}}, {{"normalize", "false"}});

const bool registered = ladder::testing::register_suite(
    "linear_attention", "packed_causal_product",
    {.most = {{"K", 256}, {"B", 65535}, {"H", 65535}}, .multiple = 4, .borders = kBorders});

// The suite's cases have few heads and therefore narrow blocks. These have enough heads for wide
// blocks on a GPU of up to 132 SMs. One order of threads is enough for so many cases, because the
// suite runs its borders in the others.
TEST(packed_causal_product, MatchesReferenceInWideBlocks) {
  if (ladder::testing::device_is_missing({.device = ladder::DeviceKind::kCuda})) return;
  const ladder::Implementation implementation =
      ladder::find_implementation("packed_causal_product");
  for (const ladder::LinearAttentionCase& c :
       {ladder::LinearAttentionCase{.B = 7, .T_q = 33, .T_k = 40, .H = 38, .K = 32, .V = 36},
        ladder::LinearAttentionCase{
            .B = 7, .T_q = 37, .T_k = 20, .H = 19, .K = 44, .V = 68, .key_lengths = true},
        ladder::LinearAttentionCase{.B = 7,
        .T_q = 65,
        .T_k = 65,
        .H = 19,
        .K = 64,
        .V = 64,
        .feature_map = ladder::FeatureMap::kIdentity,
        .normalize = false},
        ladder::LinearAttentionCase{
            .B = 2, .T_q = 17, .T_k = 33, .H = 67, .K = 60, .V = 100, .causal = false},
        ladder::LinearAttentionCase{.B = 3, .T_q = 33, .T_k = 33, .H = 12, .K = 100, .V = 128},
        ladder::LinearAttentionCase{.B = 2, .T_q = 33, .T_k = 33, .H = 9, .K = 256, .V = 256}}) {
    const ladder::LinearAttentionProblem problem = ladder::make_problem(c);
    EXPECT_TRUE(ladder::testing::is_right(problem, ladder::run(implementation, problem)))
        << name_of(c);
  }
}

}  // namespace
