#include "common/testing/suite.hpp"

#include "00_warmup/hole_tests.hpp"

using warmup::register_hole;

const ladder::Shape kShape = {{"M", 37}, {"N", 131}, {"K", 19}};

const bool holes_registered =
    register_hole("matmul_register_blocks", "Hole1Adds64Products", "matmul", kShape) &&
    register_hole("matmul_register_blocks", "Hole2StoresEachElement", "matmul", kShape);

const bool registered = ladder::testing::register_suite(
    "matmul", "matmul_register_blocks",
    {.sizes = {{"M", {37, 1, 128}}, {"N", {131, 1, 128}}, {"K", {19, 1, 24}}},
     .options = {{"with_bias", {"false", "true"}}, {"relu", {"false", "true"}}},
     .borders = {{.size = "M", .at = {128, 256}},
                 {.size = "N", .at = {128, 256}},
                 {.size = "K", .at = {8, 16}}}});
