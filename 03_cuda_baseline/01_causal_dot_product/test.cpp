#include "common/operators/suite.hpp"

// Blocks add to the same element in any order, so the last bits may differ from run to run.
const bool registered = ladder::testing::register_linear_attention_suite(
    "causal_dot_product", {.causal_dot_product_only = true,
                           .repeatable = false,
                           .most_V = 1024,
                           .most_B = 65535,
                           .most_H = 65535});
