#include "common/testing/suite.hpp"

const bool registered = ladder::testing::register_suite(
    "linear_attention", "linear_attention_chunk_states",
    {.sizes = {{"T", {0, 1, 16, 37}}, {"K", {4, 32, 100}}, {"V", {4, 31, 64}}},
     .nan_tile = 16,
     .borders = {{.size = "T", .at = {16, 32}},
                 {.size = "K", .at = {16, 32, 64}},
                 {.size = "V", .at = {16, 32, 64}}}});
