#include "common/testing/hole.hpp"
#include "common/testing/suite.hpp"

// One case for each stage of scratch.cu.
const bool stages =
    ladder::testing::register_hole("wkv_fused_recurrent", "Stage1TakesTheStateAndHandsItOn", "wkv",
                                   {{"B", 1}, {"T", 2}, {"H", 2}, {"K", 36}, {"V", 20}},
                                   {{"initial_state", "true"}, {"final_state", "true"}}) &&
    ladder::testing::register_hole("wkv_fused_recurrent", "Stage2SharesAStepAmongTheLanes", "wkv",
                                   {{"B", 2}, {"T", 3}, {"H", 3}, {"K", 36}, {"V", 36}}) &&
    ladder::testing::register_hole("wkv_fused_recurrent", "Stage3DecaysBehindTheOutput", "wkv",
                                   {{"B", 1}, {"T", 4}, {"H", 1}, {"K", 32}, {"V", 40}},
                                   {{"decay", "strong"}}) &&
    ladder::testing::register_hole("wkv_fused_recurrent", "Stage4AddsThePartsUp", "wkv",
                                   {{"B", 1}, {"T", 2}, {"H", 1}, {"K", 100}, {"V", 37}},
                                   {{"scale", "0.5"}});

const bool fused_recurrent_registered = ladder::testing::register_suite(
    "wkv", "wkv_fused_recurrent",
    {.storages = {"fp32", "bf16", "bf16_fp32_decay"},
     .refuses = {"packed sequences"},
     .most = {{"K", 65535 * 32}, {"B * H", 65535}},
     .borders = {{.size = "K", .at = {32, 64}}, {.size = "V", .at = {32, 64}}}});
