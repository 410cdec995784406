#include "common/operators/suite.hpp"

const bool registered = ladder::testing::register_linear_attention_suite(
    "prefix_causal_product", {.multiple = 4, .most_K = 256, .most_B = 65535, .most_H = 65535});
