#include "common/testing/suite.hpp"

#include "00_warmup/hole_tests.hpp"

using warmup::register_hole;

// One partial tile with two steps along K, of which the second is partial, too.
const ladder::Shape kShape = {{"M", 75}, {"N", 70}, {"K", 70}};

const bool holes_registered =
    register_hole("matmul_swizzled", "Hole1ExchangesUnits", "matmul", kShape, {}, {}, "bf16");

const bool registered = ladder::testing::register_suite(
    "matmul", "matmul_swizzled",
    {.storages = {"bf16"},
     .sizes = {{"M", {75, 1, 128}}, {"N", {70, 1, 136}}, {"K", {70, 1, 64}}},
     .options = {{"with_bias", {"false", "true"}}, {"relu", {"false", "true"}}},
     .borders = {
         {.size = "M", .at = {128}}, {.size = "N", .at = {128}}, {.size = "K", .at = {64, 128}}}});
