#include "08_flash_attention/edge_suite.hpp"
#include "common/testing/hole.hpp"
#include "common/testing/suite.hpp"

namespace {

using ladder::testing::register_hole;

// 150 keys are two tiles, and 128 channels two panels. The second warpgroup gets 6 of the 70
// queries.
const ladder::Shape kTwoTiles{{"B", 1},   {"T", 150},  {"H", 1},   {"K", 128},
                              {"V", 128}, {"T_q", 70}, {"H_kv", 1}};
const bool holes_registered = register_hole("attention_wgmma", "Hole1MultipliesWithKeys",
                                            "attention", kTwoTiles, {}, {}, "bf16") &&
                              register_hole("attention_wgmma", "Hole2MultipliesWithValues",
                                            "attention", kTwoTiles, {}, {}, "bf16");

// For scratch_sm90.cu. The loop that checks an exercise reports the stage for which a case fails.
// The cases use two heads that share two tiles of keys, of two panels, for two warpgroups, then the
// two tiles from above, then two blocks of queries in two batches.
const ladder::Shape kTwoHeads = {{"B", 1},   {"T", 140},  {"H", 2},   {"K", 128},
                                 {"V", 128}, {"T_q", 70}, {"H_kv", 1}};
const ladder::Shape kTwoBlocks = {{"B", 2},  {"T", 20},    {"H", 2},   {"K", 64},
                                  {"V", 64}, {"T_q", 200}, {"H_kv", 1}};
const bool stages =
    register_hole("attention_wgmma", "Stage1CopiesForTheTensorCores", "attention", kTwoHeads, {},
                  {}, "bf16") &&
    register_hole("attention_wgmma", "Stage2ComputesTheScores", "attention", kTwoTiles, {}, {},
                  "bf16") &&
    register_hole("attention_wgmma", "Stage3WeighsTheValues", "attention", kTwoTiles, {}, {},
                  "bf16") &&
    register_hole("attention_wgmma", "Stage4AsksInOrder", "attention", kTwoHeads, {}, {}, "bf16") &&
    register_hole("attention_wgmma", "Stage5LaunchesAndStores", "attention", kTwoBlocks, {}, {},
                  "bf16");

const bool registered = ladder::testing::register_suite(
    "attention", "attention_wgmma",
    {.storages = {"bf16"},
     .sizes = {{"D", {64, 128}}, {"T_q", {1, 17, 64, 65, 130}}, {"T_k", {65, 63, 64, 130, 64}}},
     .refuses = {"packed", "key_lengths"},
     .nan_tile = 128,
     // Tiles have 128 keys. Tiles of queries have 192 with 64 channels, and 128 with 128.
     .borders = {{.size = "T", .at = {128, 256}},
                 {.size = "T_q", .at = {64, 192}},
                 {.size = "T_q", .at = {64, 128}, .others = {{"K", 128}, {"V", 128}}}}});

const bool edges_registered = flash_attention::edges::register_forward_edges(
    "attention_wgmma",
    {.packed = false, .key_lengths = false, .limits = {"B", "H_q", "T_q", "T_k"}});

}  // namespace
