#include "common/testing/suite.hpp"

const bool registered = ladder::testing::register_linear_attention_suite(
    "linear_attention_chunkwise", {.bf16 = true,
                                   .lengths = {0, 1, 17, 64, 130},
                                   .K_sizes = {4, 64, 100},
                                   .V_sizes = {4, 64, 100}});
