#include "common/testing/suite.hpp"

using ladder::testing::register_linear_attention_suite;

const bool registered[] = {
    register_linear_attention_suite("linear_attention_naive", {}),
    register_linear_attention_suite("linear_attention_quadratic", {}),
};
