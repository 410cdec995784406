#include "08_flash_attention/hopper_gradients_test.hpp"

namespace {

constexpr const char* kName = "attention_backward_wgmma";

// Two tiles of keys and of queries, the last of each ragged.
KERNEL_TEST(attention_backward_wgmma, Hole1AddsToDvAndDk) {
  flash_attention::expect_right_gradients(kName, {.T_q = 70, .T_k = 130});
}

// Two query heads for one of keys: four steps of a block.
KERNEL_TEST(attention_backward_wgmma, Hole2AddsToDq) {
  flash_attention::expect_right_gradients(kName, {.T_q = 70, .T_k = 40, .H_q = 2, .H_kv = 1});
}

// Of two tiles of queries.
const bool stages = flash_attention::register_gradient_stages(
    kName,
    {"Stage1BringsTheTiles", "Stage2ComputesPAndDs", "Stage3AddsToDvAndDk", "Stage4AddsToDq",
     "Stage5LaunchesAndStores"},
    70);
const bool registered = flash_attention::register_gradient_suite(kName);

}  // namespace
