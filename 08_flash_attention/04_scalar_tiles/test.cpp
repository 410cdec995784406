#include "08_flash_attention/edge_tests.hpp"
#include "common/operators/suite.hpp"

namespace {

const bool registered = ladder::testing::register_attention_suite(
    "attention_scalar_tiles", {.bf16 = true, .fp16 = true, .nan_tile = 64});

const bool edges_registered = chapter08::edges::register_forward_edges(
    "attention_scalar_tiles",
    {.precision = ladder::Precision::kFp32, .limits = {"B", "H_q", "sequences", "T_q", "T_k"}});

}  // namespace
