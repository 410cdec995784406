#include "common/operators/attention/operator.hpp"
#include "common/testing/hole.hpp"
#include "common/testing/suite.hpp"
#include "common/testing/tests.hpp"

namespace {

using ladder::AttentionCase;
using ladder::Precision;

constexpr const char* kName = "attention_backward_producer";

void expect_right(const AttentionCase& c) {
  ladder::testing::expect_right<ladder::AttentionBackward>(ladder::find_implementation(kName),
                                                           ladder::AttentionGradProblem(c));
}

// Five tiles of queries: each stage is filled again, the first one twice.
KERNEL_TEST(attention_backward_producer, Hole1FillsAStageWhenItIsRead) {
  expect_right({.T_q = 280, .T_k = 40, .D = 128, .precision = Precision::kBf16});
}

// Two query heads for one of keys: four steps of a block.
KERNEL_TEST(attention_backward_producer, Hole2GivesTheStageBack) {
  expect_right(
      {.T_q = 100, .T_k = 40, .H_q = 2, .H_kv = 1, .D = 128, .precision = Precision::kBf16});
}

// Of scratch_sm90.cu. The loop that checks an exercise says for which stage a case fails. Two query heads for one of keys, with two tiles of
// keys: four steps of a block, so that places of the ring are filled again; a ragged tile of keys, and three of queries; two batches.
using ladder::testing::register_hole;
const ladder::Shape kTwoHeads = {{"B", 1},   {"T", 130},  {"H", 2},   {"K", 128},
                                 {"V", 128}, {"T_q", 70}, {"H_kv", 1}};
const ladder::Shape kThreeSteps = {{"B", 1},   {"T", 40},    {"H", 1},   {"K", 128},
                                   {"V", 128}, {"T_q", 150}, {"H_kv", 1}};
const ladder::Shape kTwoBatches = {{"B", 2},   {"T", 20},   {"H", 2},   {"K", 128},
                                   {"V", 128}, {"T_q", 30}, {"H_kv", 1}};
const bool stages =
    register_hole(kName, "Stage1FillsTheRing", "attention_backward", kTwoHeads, {}, {}, "bf16") &&
    register_hole(kName, "Stage2ComputesPAndDs", "attention_backward", kThreeSteps, {}, {},
                  "bf16") &&
    register_hole(kName, "Stage3AddsToDvAndDk", "attention_backward", kThreeSteps, {}, {},
                  "bf16") &&
    register_hole(kName, "Stage4AddsToDq", "attention_backward", kThreeSteps, {}, {}, "bf16") &&
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
