#include "common/testing/suite.hpp"

// Chunks of 64 tokens; masked scores are computed in the 16 tokens of a block on the diagonal.
const bool registered = ladder::testing::register_suite(
    "linear_attention", "linear_attention_ldmatrix_swizzle",
    {.storages = {"bf16"},
     .sizes = {{"T", {0, 1, 64, 130, 200}}, {"K", {64}}, {"V", {64}}},
     .refuses = {"all but the causal product"},
     .most = {{"K", 64}, {"V", 64}, {"B", 65535}, {"H", 65535}},
     .multiple = 64,
     .plain_steps = 130,
     .nan_tile = 16,
     .borders = {{.size = "T", .at = {16, 64, 128}, .others = {{"K", 64}, {"V", 64}}}}});
