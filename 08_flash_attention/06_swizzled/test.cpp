#include "08_flash_attention/edge_tests.hpp"
#include "common/operators/suite.hpp"

namespace {

const bool registered = ladder::testing::register_attention_suite(
    "attention_swizzled", {.fp32 = false,
                           .bf16 = true,
                           .nan_tile = 128,
                           .D_sizes = {64, 128},
                           .lengths = {{1, 65}, {17, 63}, {64, 64}, {65, 130}, {130, 64}}});

const bool edges_registered = chapter08::edges::register_forward_edges(
    "attention_swizzled", {.limits = {"B", "H_q", "sequences", "T_q", "T_k"}});

}  // namespace
