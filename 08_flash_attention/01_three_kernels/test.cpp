#include "08_flash_attention/edge_suite.hpp"
#include "common/testing/suite.hpp"

namespace {

// Any D.
const bool registered = ladder::testing::register_suite(
    "attention", "attention_three_kernels",
    {.storages = {"fp32", "bf16", "fp16"},
     .sizes = {{"D", {1, 20, 64}}},
     .nan_tile = 1 << 20,
     .borders = {{.size = "T", .at = {16, 32}}, {.size = "T_q", .at = {16, 32}}}});

const bool edges_registered = flash_attention::edges::register_forward_edges(
    "attention_three_kernels", {.precision = ladder::Precision::kFp32,
                                .skips_masked_tiles = false,
                                .limits = {"H_q", "sequences", "T_q"}});

}  // namespace
