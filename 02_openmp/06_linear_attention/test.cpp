#include "common/testing/suite.hpp"

using ladder::testing::register_suite;

const bool registered[] = {
    register_suite("linear_attention", "linear_attention_classic"),
    register_suite("linear_attention", "linear_attention_openmp"),
};
