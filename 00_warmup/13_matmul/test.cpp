#include "common/testing/suite.hpp"

const bool registered = ladder::testing::register_suite(
    "matmul", "matmul_naive",
    {.sizes = {{"M", {37, 1, 16, 8}}, {"N", {45, 1, 32, 70}}, {"K", {19, 1, 64}}},
     .options = {{"with_bias", {"false", "true"}}, {"relu", {"false", "true"}}}});
