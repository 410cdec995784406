#include <gtest/gtest.h>

#include "08_flash_attention/edge_suite.hpp"
#include "common/operators/attention/operator.hpp"
#include "common/testing/hole.hpp"
#include "common/testing/suite.hpp"
#include "common/testing/tests.hpp"

namespace {

using ladder::AttentionCase;
using ladder::Precision;
using ladder::testing::register_hole;

// Three tiles of 64 keys, the last with 22, so that each buffer is used again twice.
const ladder::Shape kThreeTiles = {{"B", 1},   {"T", 150},  {"H", 1},   {"K", 128},
                                   {"V", 128}, {"T_q", 40}, {"H_kv", 1}};
const bool holes = register_hole("attention_pipelined", "Hole1AsksForTheValues", "attention",
                                 kThreeTiles, {}, {}, "bf16") &&
                   register_hole("attention_pipelined", "Hole2AsksForTheNextKeys", "attention",
                                 kThreeTiles, {}, {}, "bf16");

// For scratch.cu. The loop that checks an exercise reports the stage for which a case fails. The
// cases use two blocks of queries with a mask, of which the first one does not see the second tile
// of keys, then two heads that share two tiles, then two warps in three tiles, then two blocks in
// two batches.
const ladder::Shape kTwoBlocks = {{"B", 1},  {"T", 150},   {"H", 1},   {"K", 64},
                                  {"V", 64}, {"T_q", 150}, {"H_kv", 1}};
const ladder::Shape kTwoHeads = {{"B", 1},  {"T", 140},  {"H", 2},   {"K", 64},
                                 {"V", 64}, {"T_q", 21}, {"H_kv", 1}};
const ladder::Shape kTwoBatches = {{"B", 2},  {"T", 20},    {"H", 2},   {"K", 64},
                                   {"V", 64}, {"T_q", 130}, {"H_kv", 1}};
const bool stages = register_hole("attention_pipelined", "Stage1CountsTheTiles", "attention",
                                  kTwoBlocks, {{"causal", "true"}}, {}, "bf16") &&
                    register_hole("attention_pipelined", "Stage2AsksForTheFirstTiles", "attention",
                                  kTwoHeads, {}, {}, "bf16") &&
                    register_hole("attention_pipelined", "Stage3KeepsTheOrder", "attention",
                                  kThreeTiles, {}, {}, "bf16") &&
                    register_hole("attention_pipelined", "Stage4MultipliesTwice", "attention",
                                  kThreeTiles, {}, {}, "bf16") &&
                    register_hole("attention_pipelined", "Stage5LaunchesAndStores", "attention",
                                  kTwoBatches, {}, {}, "bf16");

const bool registered = ladder::testing::register_suite(
    "attention", "attention_pipelined",
    {.storages = {"bf16", "fp16"},
     .sizes = {{"T_q", {0, 5, 1, 17, 64, 65, 130}}, {"T_k", {5, 0, 65, 63, 64, 130, 64}}},
     .plain_steps = 70,
     .nan_tile = 128,
     // Tiles have 128 keys with 64 channels, and 64 keys with more. Tiles of queries have 128.
     .borders = {{.size = "T", .at = {128, 256}},
                 {.size = "T", .at = {64, 128}, .others = {{"K", 128}, {"V", 128}}},
                 {.size = "T_q", .at = {64, 128}}}});

const bool edges_registered = flash_attention::edges::register_forward_edges(
    "attention_pipelined", {.limits = {"B", "H_q", "sequences", "T_q", "T_k"}});

void expect_right(const AttentionCase& c) {
  const auto implementation = ladder::find_implementation("attention_pipelined");
  const auto problem = ladder::make_problem(c);
  EXPECT_TRUE(ladder::testing::is_right(problem, ladder::run(implementation, problem),
                                        ladder::arithmetic_of(implementation, c.precision)))
      << name_of(c);
}

// Blocks have 128 queries and tiles 64 or 128 keys. The diagonal touches an edge of either, or
// passes next to it.
KERNEL_TEST(attention_pipelined, MatchesReferenceWhereTheDiagonalMeetsAnEdge) {
  for (const std::int64_t D : {64, 96}) {
    for (const std::int64_t T_k : {128, 191, 193, 257}) {
      AttentionCase c{.B = 1, .T_q = 129, .T_k = T_k, .H_q = 1, .H_kv = 1, .D = D};
      c.causal = true;
      c.precision = Precision::kBf16;
      expect_right(c);
    }
  }
}

}  // namespace
