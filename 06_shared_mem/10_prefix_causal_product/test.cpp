#include "common/testing/suite.hpp"

const bool registered = ladder::testing::register_suite(
    "linear_attention", "prefix_causal_product",
    {.most = {{"K", 256}, {"B", 65535}, {"H", 65535}}, .multiple = 4});
