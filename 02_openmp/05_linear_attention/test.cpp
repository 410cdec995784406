#include "common/operators/suite.hpp"

using ladder::testing::register_linear_attention_suite;

const bool registered[] = {
    register_linear_attention_suite("linear_attention_classic", {}),
    register_linear_attention_suite("linear_attention_openmp", {}),
};
