#include "common/testing/suite.hpp"

const bool registered = ladder::testing::register_suite(
    "linear_attention", "prefix_causal_product",
    {.most = {{"K", 256}, {"B", 65535}, {"H", 65535}},
     .multiple = 4,
     .borders = {{.size = "K", .at = {32, 64, 128, 256}, .step = 4},
                 {.size = "V", .at = {8, 16}, .step = 4},
                 {.size = "T", .at = {32, 64}},
                 {.size = "T", .at = {16, 32}, .others = {{"K", 100}}}}});
