#include "common/testing/hole.hpp"
#include "common/testing/suite.hpp"

// One case for each stage of scratch.cu.
const bool stages =
    ladder::testing::register_hole("wkv_one_barrier", "Stage1LoadsTheRowsOfAStep", "wkv",
                                   {{"B", 2}, {"T", 1}, {"H", 3}, {"K", 64}, {"V", 64}}) &&
    ladder::testing::register_hole("wkv_one_barrier", "Stage2HasTheNextRowsInTime", "wkv",
                                   {{"B", 1}, {"T", 5}, {"H", 2}, {"K", 64}, {"V", 64}}) &&
    ladder::testing::register_hole("wkv_one_barrier", "Stage3DecaysBehindTheOutput", "wkv",
                                   {{"B", 1}, {"T", 4}, {"H", 1}, {"K", 64}, {"V", 64}},
                                   {{"decay", "strong"}});

const bool one_barrier_registered =
    ladder::testing::register_suite("wkv", "wkv_one_barrier",
                                    {.sizes = {{"K", {64}}, {"V", {64}}},
                                     .refuses = {"states", "reverse", "packed sequences", "K != V"},
                                     .most = {{"B * H", INT32_MAX}}});
