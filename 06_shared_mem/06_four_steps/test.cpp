#include "common/testing/suite.hpp"

// Tiles of 16 steps, of which the state takes four at once.
const bool four_steps_registered = ladder::testing::register_suite(
    "wkv", "wkv_four_steps",
    {.sizes = {{"K", {64}}, {"V", {64}}},
     .refuses = {"states", "reverse", "packed sequences", "K != V"},
     .most = {{"B * H", INT32_MAX}},
     .plain_steps = 37,
     .nan_tile = 4,
     .borders = {{.size = "T", .at = {4, 16, 32}, .others = {{"K", 64}, {"V", 64}}}}});
