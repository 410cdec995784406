#include "common/operators/suite.hpp"

using ladder::testing::register_linear_attention_suite;

const bool registered[] = {
    register_linear_attention_suite("linear_attention_naive", {}),
    register_linear_attention_suite(
        "linear_attention_quadratic",
        {.also = {{"B1_Tq130_Tk130_H2_K128_V4_full_elu_key_lengths_huge", 611}}}),
};
