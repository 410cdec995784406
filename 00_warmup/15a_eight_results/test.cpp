#include "common/testing/suite.hpp"

#include "00_warmup/hole_tests.hpp"

using warmup::register_hole;

const ladder::Shape kShape = {{"M", 37}, {"N", 70}, {"K", 40}};

const bool holes_registered =
    register_hole("matmul_eight_results", "Hole1AddsEightProducts", "matmul", kShape) &&
    register_hole("matmul_eight_results", "Hole2StoresEightRows", "matmul", kShape);

const bool registered = ladder::testing::register_suite(
    "matmul", "matmul_eight_results",
    {.sizes = {{"M", {37, 1, 64}}, {"N", {70, 1, 64}}, {"K", {40, 1, 32}}},
     .options = {{"with_bias", {"false", "true"}}, {"relu", {"false", "true"}}},
     .borders = {{.size = "M", .at = {64, 128}},
                 {.size = "N", .at = {64, 128}},
                 {.size = "K", .at = {32, 64}}}});
