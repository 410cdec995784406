#include "common/testing/hole.hpp"
#include "common/testing/suite.hpp"

// One case for each stage of scratch.cu.
const bool stages =
    ladder::testing::register_hole("wkv_shared_columns", "Stage1ExchangesHalves", "wkv",
                                   {{"B", 2}, {"T", 4}, {"H", 3}, {"K", 64}, {"V", 64}}) &&
    ladder::testing::register_hole("wkv_shared_columns", "Stage2DecaysBehindTheOutput", "wkv",
                                   {{"B", 1}, {"T", 6}, {"H", 2}, {"K", 64}, {"V", 64}},
                                   {{"decay", "strong"}}) &&
    ladder::testing::register_hole("wkv_shared_columns", "Stage3StoresTheStepsThatThereAre", "wkv",
                                   {{"B", 1}, {"T", 7}, {"H", 2}, {"K", 64}, {"V", 64}},
                                   {{"scale", "0.5"}});

// Tiles of 16 steps, of which four are summed at a time.
const bool shared_columns_registered = ladder::testing::register_suite(
    "wkv", "wkv_shared_columns",
    {.sizes = {{"K", {64}}, {"V", {64}}},
     .refuses = {"states", "reverse", "packed sequences", "K != V"},
     .most = {{"B * H", INT32_MAX}},
     .plain_steps = 37,
     .borders = {{.size = "T", .at = {4, 16, 32}, .others = {{"K", 64}, {"V", 64}}}}});
