#include "08_flash_attention/hopper_forward_test.hpp"

namespace {

using namespace flash_attention;

constexpr const char* kName = "attention_overlap";
// Five tiles, so that stages of the ring are filled again.
constexpr std::int64_t kKeys = 520;

// Five tiles, of which four have their scores computed during the previous tile's product.
KERNEL_TEST(attention_overlap, Hole1WaitsForTheScoresOnly) {
  expect_right_forward(kName, {.T_q = 130, .T_k = 600, .D = 64});
}

// Two panels of V.
KERNEL_TEST(attention_overlap, Hole2TakesTheSumsOver) {
  expect_right_forward(kName, {.T_q = 70, .T_k = 600, .D = 128});
}

const bool stages = register_stage(kName, "Stage1FillsTheRing", two_heads(kKeys)) &&
                    register_stage(kName, "Stage2WaitsAndHandsOn", three_warpgroups(kKeys)) &&
                    register_stage(kName, "Stage3WeighsBesideProducts", three_warpgroups(kKeys)) &&
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
