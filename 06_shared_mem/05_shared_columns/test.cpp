#include "common/testing/suite.hpp"

// Tiles of 16 steps, of which four are summed at a time.
const bool shared_columns_registered = ladder::testing::register_suite(
    "wkv", "wkv_shared_columns",
    {.sizes = {{"K", {64}}, {"V", {64}}},
     .refuses = {"states", "reverse", "packed sequences", "K != V"},
     .most = {{"B * H", INT32_MAX}},
     .plain_steps = 37,
     .borders = {{.size = "T", .at = {4, 16, 32}, .others = {{"K", 64}, {"V", 64}}}}});
