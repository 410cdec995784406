#include "common/testing/suite.hpp"

namespace {

// Units of 16 tokens, chunks of 64.
const bool registered = ladder::testing::register_suite(
    "wkv_backward", "wkv_reverse_tree",
    {.storages = {"bf16"},
     .sizes = {{"T", {0, 1, 17, 65}}, {"K", {64}}, {"V", {64}}},
     .refuses = {"states", "reverse", "packed sequences", "K != V"},
     .most = {{"B * H", INT32_MAX}},
     .borders = {{.size = "T", .at = {16, 64}, .others = {{"K", 64}, {"V", 64}}}}});

}  // namespace
