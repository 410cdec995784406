#include "08_flash_attention/edge_tests.hpp"
#include "common/operators/suite.hpp"

namespace {

// Tiles have 64 or 128 queries and keys.
const bool registered = ladder::testing::register_attention_backward_suite(
    "attention_backward_two_kernels",
    {.fp32 = false, .bf16 = true, .fp16 = true, .lengths = {{17, 63}, {65, 70}}});

const bool edges_registered = chapter08::edges::register_backward_edges(
    "attention_backward_two_kernels", {.limits = {"B", "H_q", "sequences", "T_q", "T_k"}});

}  // namespace
