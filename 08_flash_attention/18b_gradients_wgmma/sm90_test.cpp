#include "common/operators/attention/operator.hpp"
#include "common/testing/hole.hpp"
#include "common/testing/suite.hpp"
#include "common/testing/tests.hpp"

namespace {

using ladder::AttentionCase;
using ladder::Precision;

constexpr const char* kName = "attention_backward_wgmma";

void expect_right(const AttentionCase& c) {
  ladder::testing::expect_right<ladder::AttentionBackward>(ladder::find_implementation(kName),
                                                           ladder::AttentionGradProblem(c));
}

// Two tiles of keys and of queries, the last of each ragged.
KERNEL_TEST(attention_backward_wgmma, Hole1AddsToDvAndDk) {
  expect_right({.T_q = 70, .T_k = 130, .D = 128, .precision = Precision::kBf16});
}

// Two query heads for one of keys: four steps of a block.
KERNEL_TEST(attention_backward_wgmma, Hole2AddsToDq) {
  expect_right(
      {.T_q = 70, .T_k = 40, .H_q = 2, .H_kv = 1, .D = 128, .precision = Precision::kBf16});
}

// Of scratch_sm90.cu. The loop that checks an exercise says for which stage a case fails. Two query heads for one of keys, with two tiles of
// keys: four steps of a block; a ragged tile of keys, and two of queries; two batches.
using ladder::testing::register_hole;
const ladder::Shape kTwoHeads = {{"B", 1},   {"T", 130},  {"H", 2},   {"K", 128},
                                 {"V", 128}, {"T_q", 70}, {"H_kv", 1}};
const ladder::Shape kRaggedTiles = {{"B", 1},   {"T", 40},   {"H", 1},   {"K", 128},
                                    {"V", 128}, {"T_q", 70}, {"H_kv", 1}};
const ladder::Shape kTwoBatches = {{"B", 2},   {"T", 20},   {"H", 2},   {"K", 128},
                                   {"V", 128}, {"T_q", 30}, {"H_kv", 1}};
const bool stages =
    register_hole(kName, "Stage1BringsTheTiles", "attention_backward", kTwoHeads, {}, {}, "bf16") &&
    register_hole(kName, "Stage2ComputesPAndDs", "attention_backward", kRaggedTiles, {}, {},
                  "bf16") &&
    register_hole(kName, "Stage3AddsToDvAndDk", "attention_backward", kRaggedTiles, {}, {},
                  "bf16") &&
    register_hole(kName, "Stage4AddsToDq", "attention_backward", kRaggedTiles, {}, {}, "bf16") &&
    register_hole(kName, "Stage5LaunchesAndStores", "attention_backward", kTwoBatches, {}, {},
                  "bf16");

// Tiles have 128 keys and 64 queries. Many blocks add to a row of dq, whoever comes first: not repeatable.
const bool registered = ladder::testing::register_suite(
    "attention_backward", kName,
    {.not_repeatable = {"dq"},
     .storages = {"bf16"},
     .sizes = {{"D", {128}}, {"T_q", {0, 5, 64, 65, 130}}, {"T_k", {5, 0, 65, 130, 64}}},
     .refuses = {"causal", "packed", "key_lengths"},
     .borders = {{.size = "T", .at = {128}}, {.size = "T_q", .at = {64, 128}}}});

}  // namespace
