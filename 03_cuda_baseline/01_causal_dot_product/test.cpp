#include "common/testing/suite.hpp"

// Blocks add to the same element in any order, so the last bits may differ from run to run.
const bool registered = ladder::testing::register_suite(
    "linear_attention", "causal_dot_product",
    {.repeatable = false,
     .refuses = {"all but the causal product"},
     .most = {{"V", 1024}, {"B", 65535}, {"H", 65535}},
     .borders = {{.size = "K", .at = {8, 16}}, {.size = "V", .at = {32, 1024}}}});
