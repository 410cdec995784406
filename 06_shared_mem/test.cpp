#include "common/testing/hole.hpp"
#include "common/testing/suite.hpp"

// One case for each stage of scratch.cu.
const bool stages =
    ladder::testing::register_hole("wkv_shared_mem", "Stage1TakesTheStateAndTheBonus", "wkv",
                                   {{"B", 1}, {"T", 1}, {"H", 2}, {"K", 36}, {"V", 20}},
                                   {{"initial_state", "true"}}) &&
    ladder::testing::register_hole("wkv_shared_mem", "Stage2BringsTheRowsOfEachStep", "wkv",
                                   {{"B", 2}, {"T", 3}, {"H", 3}, {"K", 20}, {"V", 37}}) &&
    ladder::testing::register_hole("wkv_shared_mem", "Stage3DecaysBehindTheOutput", "wkv",
                                   {{"B", 1}, {"T", 5}, {"H", 1}, {"K", 64}, {"V", 64}},
                                   {{"decay", "strong"}}) &&
    ladder::testing::register_hole("wkv_shared_mem", "Stage4StoresEveryColumn", "wkv",
                                   {{"B", 2}, {"T", 4}, {"H", 3}, {"K", 4}, {"V", 100}},
                                   {{"scale", "0.5"}}) &&
    ladder::testing::register_hole("wkv_shared_mem", "Stage5HandsTheStateOn", "wkv",
                                   {{"B", 1}, {"T", 2}, {"H", 2}, {"K", 36}, {"V", 20}},
                                   {{"final_state", "true"}});

const bool shared_mem_registered = ladder::testing::register_suite(
    "wkv", "wkv_shared_mem",
    {.storages = {"fp32", "bf16", "bf16_fp32_decay"},
     .refuses = {"packed sequences"},
     .most = {{"K", 256}, {"V", 256}, {"B * H", INT32_MAX}},
     .borders = {{.size = "K", .at = {32, 64, 128, 256}}, {.size = "V", .at = {32, 64, 256}}}});
