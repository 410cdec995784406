#include "08_flash_attention/edge_tests.hpp"
#include "common/testing/suite.hpp"

namespace {

// Tiles have 64 or 128 queries and keys. dq grows by atomics, whose order changes its last bits.
const bool registered = ladder::testing::register_attention_backward_suite(
    "attention_backward", {.fp32 = false,
                           .bf16 = true,
                           .fp16 = true,
                           .repeatable = false,
                           .lengths = {{1, 65}, {64, 64}, {65, 130}}});

const bool edges_registered = chapter08::edges::register_backward_edges(
    "attention_backward",
    {.dq_repeatable = false, .limits = {"B", "H_q", "sequences", "T_q", "T_k"}});

}  // namespace
