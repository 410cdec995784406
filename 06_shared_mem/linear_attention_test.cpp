#include "common/testing/suite.hpp"

const bool registered =
    ladder::testing::register_linear_attention_suite("linear_attention_shared_mem", {});
