#include "common/testing/hole.hpp"
#include "common/testing/suite.hpp"

// Three chunks and a partial one, two heads, two tiles of columns.
const bool hole = ladder::testing::register_hole(
    "linear_attention_chunk_states", "Hole1SumsTheChunksBefore", "linear_attention",
    {{"B", 1}, {"T", 53}, {"H", 2}, {"K", 20}, {"V", 36}}, {{"normalize", "false"}});

const bool registered = ladder::testing::register_suite(
    "linear_attention", "linear_attention_chunk_states",
    {.sizes = {{"T", {0, 1, 16, 37}}, {"K", {4, 32, 100}}, {"V", {4, 31, 64}}},
     .nan_tile = 16,
     .borders = {{.size = "T", .at = {16, 32}},
                 {.size = "K", .at = {16, 32, 64}},
                 {.size = "V", .at = {16, 32, 64}}}});
