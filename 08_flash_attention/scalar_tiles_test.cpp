#include "common/testing/suite.hpp"

namespace {

const bool registered = ladder::testing::register_attention_suite(
    "attention_scalar_tiles", {.bf16 = true, .fp16 = true, .nan_tile = 64});

}  // namespace
