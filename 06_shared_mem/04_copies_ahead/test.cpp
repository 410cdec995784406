#include "common/testing/hole.hpp"
#include "common/testing/suite.hpp"

// One case for each stage of scratch.cu.
const bool stages =
    ladder::testing::register_hole("wkv_copies_ahead", "Stage1CopiesATile", "wkv",
                                   {{"B", 2}, {"T", 5}, {"H", 3}, {"K", 64}, {"V", 64}}) &&
    ladder::testing::register_hole("wkv_copies_ahead", "Stage2PreparesDecayAndBonus", "wkv",
                                   {{"B", 1}, {"T", 16}, {"H", 2}, {"K", 64}, {"V", 64}},
                                   {{"decay", "strong"}}) &&
    ladder::testing::register_hole("wkv_copies_ahead", "Stage3BringsTheNextTileInTime", "wkv",
                                   {{"B", 1}, {"T", 37}, {"H", 1}, {"K", 64}, {"V", 64}}) &&
    ladder::testing::register_hole("wkv_copies_ahead", "Stage4DecaysBehindTheOutput", "wkv",
                                   {{"B", 1}, {"T", 4}, {"H", 1}, {"K", 64}, {"V", 64}},
                                   {{"scale", "0.5"}});

// Tiles of 16 steps.
const bool copies_ahead_registered = ladder::testing::register_suite(
    "wkv", "wkv_copies_ahead",
    {.sizes = {{"K", {64}}, {"V", {64}}},
     .refuses = {"states", "reverse", "packed sequences", "K != V"},
     .most = {{"B * H", INT32_MAX}},
     .plain_steps = 37,
     .borders = {{.size = "T", .at = {16, 32, 48}, .others = {{"K", 64}, {"V", 64}}}}});
