#include "08_flash_attention/edge_tests.hpp"
#include "common/operators/suite.hpp"

namespace {

// Tiles have 64 or 128 queries and keys. dq grows by atomics, whose order changes its last bits.
const bool registered = ladder::testing::register_attention_backward_suite(
    "attention_backward", {.fp32 = false,
                           .bf16 = true,
                           .fp16 = true,
                           .repeatable = false,
                           .lengths = {{1, 65}, {64, 64}, {65, 130}},
                           .also = {{"B1_Tq1_Tk65_Hq2_Hkv1_D32_causal_scaled_fp16", 166}}});

const bool edges_registered = chapter08::edges::register_backward_edges(
    "attention_backward",
    {.dq_repeatable = false, .limits = {"B", "H_q", "sequences", "T_q", "T_k"}});

}  // namespace
