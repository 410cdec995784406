#include "common/testing/suite.hpp"

#include "00_warmup/hole_tests.hpp"

using warmup::register_hole;

const bool holes_registered =
    register_hole("matmul_tiles", "Hole1MultipliesOneTile", "matmul",
                  {{"M", 37}, {"N", 45}, {"K", 20}}) &&
    register_hole("matmul_tiles", "Hole2WalksAlongK", "matmul", {{"M", 37}, {"N", 45}, {"K", 70}});

const bool registered = ladder::testing::register_suite(
    "matmul", "matmul_tiles",
    {.sizes = {{"M", {37, 1, 32}}, {"N", {45, 1, 64}}, {"K", {40, 1, 64}}},
     .options = {{"with_bias", {"false", "true"}}, {"relu", {"false", "true"}}},
     .borders = {{.size = "M", .at = {32, 64}},
                 {.size = "N", .at = {32, 64}},
                 {.size = "K", .at = {32, 64}}}});
