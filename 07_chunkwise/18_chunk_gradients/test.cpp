#include "common/testing/suite.hpp"

namespace {

// Chunks of 16 steps.
const bool registered = ladder::testing::register_suite(
    "wkv_backward", "wkv_chunk_gradients",
    {.sizes = {{"T", {0, 1, 16, 35}}, {"K", {64}}, {"V", {64}}},
     .refuses = {"states", "reverse", "packed sequences", "K != V"},
     .most = {{"B * H", INT32_MAX}},
     .borders = {{.size = "T", .at = {16, 32}, .others = {{"K", 64}, {"V", 64}}}}});

}  // namespace
