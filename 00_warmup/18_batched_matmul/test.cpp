#include "common/testing/suite.hpp"

#include "00_warmup/hole_tests.hpp"

using warmup::register_hole;

const bool holes_registered =
    register_hole("batched_matmul_tiles", "Hole1AddsTheBiasAndThenAppliesGelu", "batched_matmul",
                  {{"B", 1}, {"M", 5}, {"N", 45}, {"K", 19}},
                  {{"with_bias", "true"}, {"gelu", "true"}}) &&
    register_hole("batched_matmul_tiles", "Hole2FindsItsBatch", "batched_matmul",
                  {{"B", 3}, {"M", 5}, {"N", 45}, {"K", 19}});

const bool registered = ladder::testing::register_suite(
    "batched_matmul", "batched_matmul_tiles",
    {.sizes = {{"B", {3, 1, 2}}, {"M", {37, 1, 32}}, {"N", {45, 1, 64}}, {"K", {40, 1, 64}}},
     .options = {{"with_bias", {"false", "true"}}, {"gelu", {"false", "true"}}},
     .borders = {{.size = "M", .at = {32}}, {.size = "N", .at = {32}}, {.size = "K", .at = {32}}}});
