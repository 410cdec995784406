#include "common/testing/hole.hpp"
#include "common/testing/suite.hpp"

// One case for each stage of scratch.cu.
const bool stages =
    ladder::testing::register_hole("wkv_four_steps", "Stage1CopiesATile", "wkv",
                                   {{"B", 2}, {"T", 5}, {"H", 3}, {"K", 64}, {"V", 64}}) &&
    ladder::testing::register_hole("wkv_four_steps", "Stage2PreparesAUnit", "wkv",
                                   {{"B", 1}, {"T", 4}, {"H", 2}, {"K", 64}, {"V", 64}},
                                   {{"decay", "strong"}}) &&
    ladder::testing::register_hole("wkv_four_steps", "Stage3BringsTheNextTileInTime", "wkv",
                                   {{"B", 1}, {"T", 37}, {"H", 1}, {"K", 64}, {"V", 64}}) &&
    ladder::testing::register_hole("wkv_four_steps", "Stage4TakesFourStepsAtOnce", "wkv",
                                   {{"B", 1}, {"T", 8}, {"H", 1}, {"K", 64}, {"V", 64}}) &&
    ladder::testing::register_hole("wkv_four_steps", "Stage5StoresTheStepsThatThereAre", "wkv",
                                   {{"B", 1}, {"T", 7}, {"H", 2}, {"K", 64}, {"V", 64}},
                                   {{"scale", "0.5"}});

// Tiles of 16 steps, of which the state is updated for four at once.
const bool four_steps_registered = ladder::testing::register_suite(
    "wkv", "wkv_four_steps",
    {.sizes = {{"K", {64}}, {"V", {64}}},
     .refuses = {"states", "reverse", "packed sequences", "K != V"},
     .most = {{"B * H", INT32_MAX}},
     .plain_steps = 37,
     .nan_tile = 4,
     .borders = {{.size = "T", .at = {4, 16, 32}, .others = {{"K", 64}, {"V", 64}}}}});
