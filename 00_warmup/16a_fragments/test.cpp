#include "common/testing/suite.hpp"

#include "00_warmup/hole_tests.hpp"

using warmup::register_hole;

// Two tiles of rows, two of columns, two products along K, and the last of each is partial.
const ladder::Shape kShape = {{"M", 21}, {"N", 13}, {"K", 27}};

const bool holes_registered = register_hole("matmul_fragments", "Hole1KnowsTheElementsOfA",
                                            "matmul", kShape, {}, {}, "bf16") &&
                              register_hole("matmul_fragments", "Hole2KnowsTheElementsOfB",
                                            "matmul", kShape, {}, {}, "bf16") &&
                              register_hole("matmul_fragments", "Hole3StoresTheElementsOfC",
                                            "matmul", kShape, {}, {}, "bf16");

const bool registered = ladder::testing::register_suite(
    "matmul", "matmul_fragments",
    {.storages = {"bf16"},
     .sizes = {{"M", {21, 1, 16, 48}}, {"N", {13, 1, 8, 40}}, {"K", {27, 1, 16, 80}}},
     .options = {{"with_bias", {"false", "true"}}, {"relu", {"false", "true"}}},
     .borders = {{.size = "M", .at = {16, 32}},
                 {.size = "N", .at = {8, 16}},
                 {.size = "K", .at = {16, 32}}}});
