#include "08_flash_attention/edge_suite.hpp"
#include "common/operators/attention/operator.hpp"
#include "common/testing/hole.hpp"
#include "common/testing/suite.hpp"
#include "common/testing/tests.hpp"

namespace {

using ladder::AttentionCase;
using ladder::Precision;

void expect_right(const AttentionCase& c) {
  ladder::testing::expect_right<ladder::Attention>(
      ladder::find_implementation("attention_producer"), make_problem(c));
}

// Five tiles of two panels: each stage is filled again, the first one twice. The second head of two shares the keys of the first.
KERNEL_TEST(attention_producer, Hole1FillsAStageWhenItIsRead) {
  expect_right(
      {.T_q = 70, .T_k = 600, .H_q = 2, .H_kv = 1, .D = 128, .precision = Precision::kBf16});
}

// Five tiles, three consumers, the last one with two queries.
KERNEL_TEST(attention_producer, Hole2GivesTheStageBack) {
  expect_right({.T_q = 130, .T_k = 600, .D = 64, .precision = Precision::kBf16});
}

// Of scratch_sm90.cu. The loop that checks an exercise says for which stage a case fails. Four tiles, so that stages of the ring are
// filled again, of two panels for two heads that share them; two tiles, of which the second has 12 keys, for two consumers; four
// tiles for three consumers; two blocks of queries, in two batches.
using ladder::testing::register_hole;
const ladder::Shape kTwoHeads = {{"B", 1},   {"T", 400},  {"H", 2},   {"K", 128},
                                 {"V", 128}, {"T_q", 70}, {"H_kv", 1}};
const ladder::Shape kTwoWarpgroups = {{"B", 1},   {"T", 140},  {"H", 1},   {"K", 128},
                                      {"V", 128}, {"T_q", 70}, {"H_kv", 1}};
const ladder::Shape kThreeWarpgroups = {{"B", 1},  {"T", 400},   {"H", 1},   {"K", 64},
                                        {"V", 64}, {"T_q", 130}, {"H_kv", 1}};
const ladder::Shape kTwoBlocks = {{"B", 2},  {"T", 20},    {"H", 2},   {"K", 64},
                                  {"V", 64}, {"T_q", 200}, {"H_kv", 1}};
const bool stages = register_hole("attention_producer", "Stage1FillsTheRing", "attention",
                                  kTwoHeads, {}, {}, "bf16") &&
                    register_hole("attention_producer", "Stage2ComputesTheScores", "attention",
                                  kTwoWarpgroups, {}, {}, "bf16") &&
                    register_hole("attention_producer", "Stage3WeighsTheValues", "attention",
                                  kTwoWarpgroups, {}, {}, "bf16") &&
                    register_hole("attention_producer", "Stage4WaitsAndGivesBack", "attention",
                                  kThreeWarpgroups, {}, {}, "bf16") &&
                    register_hole("attention_producer", "Stage5LaunchesAndStores", "attention",
                                  kTwoBlocks, {}, {}, "bf16");

const bool registered = ladder::testing::register_suite(
    "attention", "attention_producer",
    {.storages = {"bf16"},
     .sizes = {{"D", {64, 128}}, {"T_q", {1, 17, 64, 65, 130}}, {"T_k", {65, 63, 64, 130, 64}}},
     .refuses = {"packed", "key_lengths"},
     .nan_tile = 128,
     // Keys in tiles of 128; queries in tiles of 192 with 64 channels, of 128 with 128.
     .borders = {{.size = "T", .at = {128, 256}},
                 {.size = "T_q", .at = {64, 192}},
                 {.size = "T_q", .at = {64, 128}, .others = {{"K", 128}, {"V", 128}}}}});

const bool edges_registered = flash_attention::edges::register_forward_edges(
    "attention_producer",
    {.packed = false, .key_lengths = false, .limits = {"B", "H_q", "T_q", "T_k"}});

}  // namespace
