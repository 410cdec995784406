#include "common/testing/suite.hpp"

// Tiles of 16 steps.
const bool copies_ahead_registered = ladder::testing::register_suite(
    "wkv", "wkv_copies_ahead",
    {.sizes = {{"K", {64}}, {"V", {64}}},
     .refuses = {"states", "reverse", "packed sequences", "K != V"},
     .most = {{"B * H", INT32_MAX}},
     .plain_steps = 37,
     .borders = {{.size = "T", .at = {16, 32, 48}, .others = {{"K", 64}, {"V", 64}}}}});
