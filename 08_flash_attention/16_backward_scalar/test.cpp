#include "08_flash_attention/edge_tests.hpp"
#include "common/operators/suite.hpp"

namespace {

// Tiles have 32 queries and keys.
const bool registered = ladder::testing::register_attention_backward_suite(
    "attention_backward_scalar",
    {.bf16 = true,
     .fp16 = true,
     .lengths = {{0, 5}, {5, 0}, {1, 65}, {17, 1}, {32, 32}, {33, 65}, {65, 33}}});

const bool edges_registered = chapter08::edges::register_backward_edges(
    "attention_backward_scalar",
    {.precision = ladder::Precision::kFp32, .limits = {"B", "H_q", "sequences", "T_q", "T_k"}});

}  // namespace
