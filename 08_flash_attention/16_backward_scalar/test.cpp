#include "08_flash_attention/edge_suite.hpp"
#include "common/testing/suite.hpp"

namespace {

// Tiles have 32 queries and keys.
const bool registered = ladder::testing::register_suite(
    "attention_backward", "attention_backward_scalar",
    {.storages = {"fp32", "bf16", "fp16"},
     .sizes = {{"T_q", {0, 5, 1, 17, 32, 33, 65}}, {"T_k", {5, 0, 65, 1, 32, 65, 33}}},
     .borders = {{.size = "T", .at = {32, 64}}, {.size = "T_q", .at = {32, 64}}}});

const bool edges_registered = flash_attention::edges::register_backward_edges(
    "attention_backward_scalar",
    {.precision = ladder::Precision::kFp32, .limits = {"B", "H_q", "sequences", "T_q", "T_k"}});

}  // namespace
