#include "common/operators/suite.hpp"

const bool shared_mem_registered = ladder::testing::register_wkv_suite(
    "wkv_shared_mem", {.bf16 = true, .most_K = 256, .most_V = 256, .most_batch_heads = INT32_MAX});
