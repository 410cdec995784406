#include "08_flash_attention/edge_suite.hpp"
#include "common/operators/attention/operator.hpp"
#include "common/testing/hole.hpp"
#include "common/testing/suite.hpp"
#include "common/testing/tests.hpp"

namespace {

using ladder::AttentionCase;
using ladder::Precision;

void expect_right(const AttentionCase& c) {
  ladder::testing::expect_right(ladder::find_implementation("attention_tma"), make_problem(c));
}

// Two panels of each tile. The second head and the second batch begin at other addresses.
KERNEL_TEST(attention_tma, Hole1AsksForEveryPanel) {
  expect_right({.B = 2, .T_q = 70, .T_k = 260, .H_q = 2, .D = 128, .precision = Precision::kBf16});
}

// Five tiles, so that each stage is used again, the first one twice. Three warpgroups read them,
// and the last one computes two queries.
KERNEL_TEST(attention_tma, Hole2WaitsForTheRightPhase) {
  expect_right({.T_q = 130, .T_k = 600, .D = 64, .precision = Precision::kBf16});
}

// For scratch_sm90.cu. The loop that checks an exercise reports the stage for which a case fails.
// The cases use two heads of two panels in two tiles of keys, for two warpgroups, then a stage of
// the ring that is used again, then two blocks of queries in two batches.
using ladder::testing::register_hole;
const ladder::Shape kTwoHeads = {{"B", 1},   {"T", 140},  {"H", 2},   {"K", 128},
                                 {"V", 128}, {"T_q", 70}, {"H_kv", 1}};
const ladder::Shape kThreeTiles = {{"B", 1},  {"T", 300},  {"H", 1},   {"K", 64},
                                   {"V", 64}, {"T_q", 21}, {"H_kv", 1}};
const ladder::Shape kTwoBlocks = {{"B", 2},  {"T", 20},    {"H", 2},   {"K", 64},
                                  {"V", 64}, {"T_q", 200}, {"H_kv", 1}};
const bool stages = register_hole("attention_tma", "Stage1AsksForTheTiles", "attention", kTwoHeads,
                                  {}, {}, "bf16") &&
                    register_hole("attention_tma", "Stage2ComputesTheScores", "attention",
                                  kTwoHeads, {}, {}, "bf16") &&
                    register_hole("attention_tma", "Stage3WeighsTheValues", "attention", kTwoHeads,
                                  {}, {}, "bf16") &&
                    register_hole("attention_tma", "Stage4CountsWhatHasCome", "attention",
                                  kThreeTiles, {}, {}, "bf16") &&
                    register_hole("attention_tma", "Stage5LaunchesAndStores", "attention",
                                  kTwoBlocks, {}, {}, "bf16");

const bool registered = ladder::testing::register_suite(
    "attention", "attention_tma",
    {.storages = {"bf16"},
     .sizes = {{"D", {64, 128}}, {"T_q", {1, 17, 64, 65, 130}}, {"T_k", {65, 63, 64, 130, 64}}},
     .refuses = {"packed", "key_lengths"},
     .nan_tile = 128,
     // Tiles have 128 keys. Tiles of queries have 192 with 64 channels, and 128 with 128.
     .borders = {{.size = "T", .at = {128, 256}},
                 {.size = "T_q", .at = {64, 192}},
                 {.size = "T_q", .at = {64, 128}, .others = {{"K", 128}, {"V", 128}}}}});

const bool edges_registered = flash_attention::edges::register_forward_edges(
    "attention_tma", {.packed = false, .key_lengths = false, .limits = {"B", "H_q", "T_q", "T_k"}});

}  // namespace
