#include "common/testing/suite.hpp"

#include "00_warmup/hole_tests.hpp"

using warmup::register_hole;

// One partial tile, and four tiles along K, so that a stage is used again. The last one is partial.
// Rows begin at multiples of 16 bytes, because only then they are copied asynchronously.
const ladder::Shape kShape = {{"M", 75}, {"N", 72}, {"K", 200}};

const bool holes_registered =
    register_hole("matmul_copies_ahead", "Hole1AsksForTheFirstTiles", "matmul", kShape, {}, {},
                  "bf16") &&
    register_hole("matmul_copies_ahead", "Hole2StaysAhead", "matmul", kShape, {}, {}, "bf16");

const bool registered = ladder::testing::register_suite(
    "matmul", "matmul_copies_ahead",
    {.storages = {"bf16"},
     .sizes = {{"M", {75, 1, 128}}, {"N", {70, 1, 136, 72}}, {"K", {201, 1, 64, 200}}},
     .options = {{"with_bias", {"false", "true"}}, {"relu", {"false", "true"}}},
     .borders = {
         {.size = "M", .at = {128}}, {.size = "N", .at = {128}}, {.size = "K", .at = {64, 192}}}});
