#include "common/testing/suite.hpp"

const bool registered = ladder::testing::register_suite(
    "matmul", "matmul_tiles",
    {.sizes = {{"M", {37, 1, 32}}, {"N", {45, 1, 64}}, {"K", {40, 1, 64}}},
     .options = {{"with_bias", {"false", "true"}}, {"relu", {"false", "true"}}}});
