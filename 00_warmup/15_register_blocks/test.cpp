#include "common/testing/suite.hpp"

#include "00_warmup/hole_test.hpp"

using chapter00::add_hole_test;

const bool holes_registered =
    add_hole_test("matmul", "matmul_register_blocks", "Hole1StoresEachElement",
                  {{"M", 37}, {"N", 131}, {"K", 0}}) &&
    add_hole_test("matmul", "matmul_register_blocks", "Hole2MultipliesTheTiles",
                  {{"M", 37}, {"N", 131}, {"K", 19}});

const bool registered = ladder::testing::register_suite(
    "matmul", "matmul_register_blocks",
    {.sizes = {{"M", {37, 1, 128}}, {"N", {131, 1, 128}}, {"K", {19, 1, 24}}},
     .options = {{"with_bias", {"false", "true"}}, {"relu", {"false", "true"}}}});
