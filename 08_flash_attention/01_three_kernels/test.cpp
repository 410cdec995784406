#include "08_flash_attention/edge_tests.hpp"
#include "common/operators/suite.hpp"

namespace {

// Any D.
const bool registered = ladder::testing::register_attention_suite(
    "attention_three_kernels",
    {.bf16 = true, .fp16 = true, .nan_tile = 1 << 20, .D_sizes = {1, 20, 64}});

const bool edges_registered = chapter08::edges::register_forward_edges(
    "attention_three_kernels", {.precision = ladder::Precision::kFp32,
                                .skips_masked_tiles = false,
                                .limits = {"H_q", "sequences", "T_q"}});

}  // namespace
