#include "common/testing/suite.hpp"

using ladder::testing::register_suite;

const bool registered[] = {
    register_suite("linear_attention", "linear_attention_naive"),
    register_suite("linear_attention", "linear_attention_quadratic",
                   {.also = {{{{"B", 1}, {"T", 130}, {"H", 2}, {"K", 128}, {"V", 4}},
                              {{"causal", "false"},
                               {"normalize", "false"},
                               {"key_lengths", "true"},
                               {"magnitude", "1e8"},
                               {"seed", "611"}}}}}),
};
