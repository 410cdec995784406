#include "common/testing/suite.hpp"

#include "00_warmup/hole_tests.hpp"

using warmup::register_hole;

const bool holes_registered =
    register_hole("matmul_naive", "Hole1StoresEachElement", "matmul",
                  {{"M", 8}, {"N", 45}, {"K", 0}}) &&
    register_hole("matmul_naive", "Hole2AddsUpTheProducts", "matmul",
                  {{"M", 8}, {"N", 45}, {"K", 19}}) &&
    register_hole("matmul_naive", "Hole3AddsTheBiasAndThenAppliesRelu", "matmul",
                  {{"M", 8}, {"N", 45}, {"K", 19}}, {{"with_bias", "true"}, {"relu", "true"}});

const bool registered = ladder::testing::register_suite(
    "matmul", "matmul_naive",
    {.sizes = {{"M", {37, 1, 16, 8}}, {"N", {45, 1, 32, 70}}, {"K", {19, 1, 64}}},
     .options = {{"with_bias", {"false", "true"}}, {"relu", {"false", "true"}}},
     .borders = {{.size = "M", .at = {8}}, {.size = "N", .at = {32}}}});
