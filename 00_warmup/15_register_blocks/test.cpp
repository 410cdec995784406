#include "common/testing/suite.hpp"

const bool registered = ladder::testing::register_suite(
    "matmul", "matmul_register_blocks",
    {.sizes = {{"M", {37, 1, 128}}, {"N", {131, 1, 128}}, {"K", {19, 1, 24}}},
     .options = {{"with_bias", {"false", "true"}}, {"relu", {"false", "true"}}}});
