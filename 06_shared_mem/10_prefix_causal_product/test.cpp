#include "common/testing/hole.hpp"
#include "common/testing/suite.hpp"

// One block of eight warps and two iterations, then four warps in one iteration with a denominator.
// The cases are small because a diagnosis runs them often.
const bool holes =
    ladder::testing::register_hole(
        "prefix_causal_product", "Hole1ScansOverTheWarps", "linear_attention",
        {{"B", 1}, {"T", 77}, {"H", 1}, {"K", 36}, {"V", 8}}, {{"normalize", "false"}}) &&
    ladder::testing::register_hole("prefix_causal_product", "Hole2WalksTheWarpsSteps",
                                   "linear_attention",
                                   {{"B", 1}, {"T", 13}, {"H", 1}, {"K", 36}, {"V", 12}});

const bool registered = ladder::testing::register_suite(
    "linear_attention", "prefix_causal_product",
    {.most = {{"K", 256}, {"B", 65535}, {"H", 65535}},
     .multiple = 4,
     .borders = {{.size = "K", .at = {32, 64, 128, 256}, .step = 4},
                 {.size = "V", .at = {8, 16}, .step = 4},
                 {.size = "T", .at = {32, 64}},
                 {.size = "T", .at = {16, 32}, .others = {{"K", 100}}}}});
