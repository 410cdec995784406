#include "common/operators/suite.hpp"

const bool fused_recurrent_registered = ladder::testing::register_wkv_suite(
    "wkv_fused_recurrent", {.bf16 = true, .most_K = 65535 * 32, .most_batch_heads = 65535});
