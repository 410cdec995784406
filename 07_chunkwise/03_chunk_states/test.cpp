#include "common/operators/suite.hpp"

const bool registered = ladder::testing::register_linear_attention_suite(
    "linear_attention_chunk_states",
    {.nan_tile = 16, .lengths = {0, 1, 16, 37}, .K_sizes = {4, 32, 100}, .V_sizes = {4, 31, 64}});
