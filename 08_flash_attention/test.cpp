#include "08_flash_attention/edge_suite.hpp"
#include "common/testing/hole.hpp"
#include "common/testing/suite.hpp"

namespace {

using ladder::testing::register_hole;

const bool registered = ladder::testing::register_suite(
    "attention", "attention_tiles",
    {.sizes = {{"D", {64}}, {"T_q", {0, 5, 1, 127, 128, 130}}, {"T_k", {5, 0, 1, 33, 65, 130}}},
     .refuses = {"packed", "key_lengths"},
     .most = {{"T_q", std::int64_t{128} * INT32_MAX}},
     .nan_tile = 32,
     .borders = {{.size = "T", .at = {32, 64}}, {.size = "T_q", .at = {128}}}});

}  // namespace
