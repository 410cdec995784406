#include "common/testing/suite.hpp"

namespace {

// Tiles have 64 or 128 queries and keys.
const bool registered = ladder::testing::register_attention_backward_suite(
    "attention_backward_two_kernels",
    {.fp32 = false, .bf16 = true, .fp16 = true, .lengths = {{17, 63}, {65, 70}}});

}  // namespace
