#include "08_flash_attention/hopper_forward_test.hpp"

namespace {

using namespace flash_attention;

constexpr const char* kName = "attention_ping_pong";
// Five tiles, so that stages of the ring are filled again.
constexpr std::int64_t kKeys = 520;

// Three consumers if D = 64, two if D = 128, with two tiles.
KERNEL_TEST(attention_ping_pong, Hole1HandsTheTurnOn) {
  expect_right_forward(kName, {.T_q = 130, .T_k = 200, .D = 64});
  expect_right_forward(kName, {.T_q = 70, .T_k = 200, .D = 128});
}

// Five tiles are four turns with two products, and each stage of the ring is used again.
KERNEL_TEST(attention_ping_pong, Hole2TakesATurn) {
  expect_right_forward(kName, {.T_q = 130, .T_k = 600, .D = 64});
}

const bool stages = register_stage(kName, "Stage1FillsTheRing", two_heads(kKeys)) &&
                    register_stage(kName, "Stage2WaitsAndWeighs", three_warpgroups(kKeys)) &&
                    register_stage(kName, "Stage3TakesTurns", three_warpgroups(kKeys)) &&
                    register_stage(kName, "Stage4LaunchesAndStores", kTwoBlocks);

const bool registered = ladder::testing::register_suite(
    "attention", kName,
    {.storages = {"bf16"},
     .sizes = {{"D", {64, 128}}, {"T_q", {1, 17, 64, 65, 130}}, {"T_k", {65, 63, 64, 130, 64}}},
     .refuses = {"packed", "key_lengths"},
     .nan_tile = 128,
     // Tiles have 128 keys. Tiles of queries have 192 with 64 channels, and 128 with 128.
     .borders = {{.size = "T", .at = {128, 256}},
                 {.size = "T_q", .at = {64, 192}},
                 {.size = "T_q", .at = {64, 128}, .others = {{"K", 128}, {"V", 128}}}}});

const bool edges_registered = flash_attention::edges::register_forward_edges(
    kName, {.packed = false, .key_lengths = false, .limits = {"B", "H_q", "T_q", "T_k"}});

}  // namespace
