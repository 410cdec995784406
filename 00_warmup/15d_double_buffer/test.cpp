#include "common/testing/suite.hpp"

#include "00_warmup/hole_tests.hpp"

using warmup::register_hole;

// Two pairs of tiles, and three, of which the third overwrites the first.
const ladder::Shape kTwo = {{"M", 37}, {"N", 132}, {"K", 12}},
                    kThree = {{"M", 37}, {"N", 132}, {"K", 20}};

const bool holes_registered =
    register_hole("matmul_double_buffer", "Hole1FetchesTheFirstTiles", "matmul", kTwo) &&
    register_hole("matmul_double_buffer", "Hole2FetchesAhead", "matmul", kTwo) &&
    register_hole("matmul_double_buffer", "Hole2UsesBuffersAgain", "matmul", kThree);

// K and N that are multiples of 4 are read 16 bytes at a time, others are not.
const bool registered = ladder::testing::register_suite(
    "matmul", "matmul_double_buffer",
    {.sizes = {{"M", {37, 1, 128}}, {"N", {132, 1, 128, 30}}, {"K", {20, 1, 19, 24, 12}}},
     .options = {{"with_bias", {"false", "true"}}, {"relu", {"false", "true"}}},
     .borders = {{.size = "M", .at = {128, 256}},
                 {.size = "N", .at = {128, 256}},
                 {.size = "M", .at = {128, 256}, .others = {{"N", 8}, {"K", 8}}},
                 {.size = "N", .at = {128, 256}, .others = {{"K", 8}}, .step = 4},
                 {.size = "K", .at = {8, 16}},
                 {.size = "K", .at = {8, 16}, .others = {{"N", 8}}, .step = 4}}});
