#include "08_flash_attention/edge_suite.hpp"
#include "common/testing/suite.hpp"

namespace {

const bool registered = ladder::testing::register_suite(
    "attention", "attention_scalar_tiles",
    {.storages = {"fp32", "bf16", "fp16"},
     .nan_tile = 64,
     .borders = {{.size = "T", .at = {64, 128}}, {.size = "T_q", .at = {64, 128}}}});

const bool edges_registered = flash_attention::edges::register_forward_edges(
    "attention_scalar_tiles",
    {.precision = ladder::Precision::kFp32, .limits = {"B", "H_q", "sequences", "T_q", "T_k"}});

}  // namespace
