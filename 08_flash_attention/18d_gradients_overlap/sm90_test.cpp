#include "08_flash_attention/hopper_gradients_test.hpp"

namespace {

constexpr const char* kName = "attention_backward_overlap";

// Three tiles of queries, the last one partial.
KERNEL_TEST(attention_backward_overlap, Hole1WaitsForTheScoresOnly) {
  flash_attention::expect_right_gradients(kName, {.T_q = 150, .T_k = 40});
}

// Two query heads for one key head are four steps of a block.
KERNEL_TEST(attention_backward_overlap, Hole2TakesTheDsOfTheStepBefore) {
  flash_attention::expect_right_gradients(kName, {.T_q = 100, .T_k = 40, .H_q = 2, .H_kv = 1});
}

// For three tiles of queries, so that stages of the ring are filled again.
const bool stages = flash_attention::register_gradient_stages(
    kName,
    {"Stage1FillsTheRing", "Stage2ComputesPAndDs", "Stage3StoresDs", "Stage4AddsToDqAStepLate",
     "Stage5LaunchesAndStores"},
    150);

// Tiles have 128 keys and 64 queries. Many blocks add to a row of dq in any order, so it is not
// repeatable.
const bool registered = ladder::testing::register_suite(
    "attention_backward", kName,
    {.not_repeatable = {"dq"},
     .storages = {"bf16"},
     .sizes = {{"D", {128}}, {"T_q", {0, 5, 64, 65, 130}}, {"T_k", {5, 0, 65, 130, 64}}},
     .refuses = {"causal", "packed", "key_lengths"},
     .borders = {{.size = "T", .at = {128}}, {.size = "T_q", .at = {64, 128}}}});

}  // namespace
