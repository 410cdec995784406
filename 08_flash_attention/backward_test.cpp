#include "common/testing/suite.hpp"

namespace {

// Tiles have 64 or 128 queries and keys. dq grows by atomics, whose order changes its last bits.
const bool registered = ladder::testing::register_attention_backward_suite(
    "attention_backward", {.fp32 = false,
                           .bf16 = true,
                           .fp16 = true,
                           .repeatable = false,
                           .lengths = {{1, 65}, {64, 64}, {65, 130}, {130, 64}}});

}  // namespace
