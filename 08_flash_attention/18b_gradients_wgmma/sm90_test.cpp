#include "08_flash_attention/hopper_gradients_test.hpp"

namespace {

constexpr const char* kName = "attention_backward_wgmma";

// Two tiles of keys and of queries, the last of each partial.
KERNEL_TEST(attention_backward_wgmma, Hole1AddsToDvAndDk) {
  flash_attention::expect_right_gradients(kName, {.T_q = 70, .T_k = 130});
}

// Two query heads for one key head are four steps of a block.
KERNEL_TEST(attention_backward_wgmma, Hole2AddsToDq) {
  flash_attention::expect_right_gradients(kName, {.T_q = 70, .T_k = 40, .H_q = 2, .H_kv = 1});
}

// For two tiles of queries.
const bool stages = flash_attention::register_gradient_stages(
    kName,
    {"Stage1BringsTheTiles", "Stage2ComputesPAndDs", "Stage3AddsToDvAndDk", "Stage4AddsToDq",
     "Stage5LaunchesAndStores"},
    70);

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
