#include "common/testing/suite.hpp"

#include "00_warmup/hole_tests.hpp"

using warmup::register_hole;

const bool holes_registered =
    register_hole("shared_a_tiles", "Hole1FindsTheBatchOfAColumn", "shared_a_matmul",
                  {{"B", 3}, {"M", 5}, {"N", 21}, {"K", 0}}, {{"with_bias", "true"}}) &&
    register_hole("shared_a_tiles", "Hole2TakesEachColumnFromItsBatch", "shared_a_matmul",
                  {{"B", 3}, {"M", 5}, {"N", 21}, {"K", 40}});

// With N = 5 a tile holds columns of seven batches.
const bool registered = ladder::testing::register_suite(
    "shared_a_matmul", "shared_a_tiles",
    {.sizes = {{"B", {3, 1, 2, 8}}, {"M", {37, 1, 32}}, {"N", {45, 1, 5, 64}}, {"K", {40, 1, 64}}},
     .options = {{"with_bias", {"false", "true"}}},
     .borders = {{.size = "M", .at = {32}}, {.size = "N", .at = {32}}, {.size = "K", .at = {32}}}});
