#include "common/testing/suite.hpp"

namespace {

// Any D.
const bool registered = ladder::testing::register_attention_suite(
    "attention_three_kernels",
    {.bf16 = true, .fp16 = true, .nan_tile = 1 << 20, .D_sizes = {1, 20, 64}});

}  // namespace
