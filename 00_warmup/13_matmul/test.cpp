#include "common/testing/suite.hpp"

#include "00_warmup/hole_test.hpp"

using chapter00::add_hole_test;

const bool holes_registered =
    add_hole_test("matmul", "matmul_naive", "Hole1StoresEachElement",
                  {{"M", 8}, {"N", 45}, {"K", 0}}) &&
    add_hole_test("matmul", "matmul_naive", "Hole2AddsUpTheProducts",
                  {{"M", 8}, {"N", 45}, {"K", 19}}) &&
    add_hole_test("matmul", "matmul_naive", "Hole3AddsTheBiasAndThenAppliesRelu",
                  {{"M", 8}, {"N", 45}, {"K", 19}}, {{"with_bias", "true"}, {"relu", "true"}});

const bool registered = ladder::testing::register_suite(
    "matmul", "matmul_naive",
    {.sizes = {{"M", {37, 1, 16, 8}}, {"N", {45, 1, 32, 70}}, {"K", {19, 1, 64}}},
     .options = {{"with_bias", {"false", "true"}}, {"relu", {"false", "true"}}}});
