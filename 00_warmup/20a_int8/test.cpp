#include "00_warmup/hole_tests.hpp"
#include "common/testing/suite.hpp"

namespace {

// GROUP: smaller than a tile and across its edges, and all of K.
const bool registered =
    ladder::testing::register_suite(
        "quantize", "quantize_groups",
        {.sizes = {{"K", {100, 1, 64}}, {"N", {37, 1, 64}}, {"GROUP", {32, 7, 1, 100}}},
         .options = {{"symmetric", {"false", "true"}}},
         .borders = {{.size = "N", .at = {256}}}}) &&
    ladder::testing::register_suite("int8_matmul", "int8_tiles",
                                    {.sizes = {{"M", {37, 1, 32}},
                                               {"N", {45, 1, 64}},
                                               {"K", {70, 1, 64}},
                                               {"GROUP", {20, 1, 32, 70}}},
                                     .options = {{"symmetric", {"false", "true"}}},
                                     .borders = {{.size = "M", .at = {32, 64}},
                                                 {.size = "N", .at = {32, 64}},
                                                 {.size = "K", .at = {32, 64}}}});

using warmup::register_hole;

const ladder::Shape kWeights = {{"K", 70}, {"N", 37}, {"GROUP", 32}};
const ladder::Shape kProduct = {{"M", 37}, {"N", 45}, {"K", 70}, {"GROUP", 20}};
const bool holes[] = {
    register_hole("quantize_groups", "Hole1HasScalesAndZeroPoints", "quantize", kWeights),
    register_hole("quantize_groups", "Hole1HasSymmetricScales", "quantize", kWeights,
                  {{"symmetric", "true"}}),
    register_hole("int8_tiles", "Hole2HasGroups", "int8_matmul", kProduct),
    register_hole("int8_tiles", "Hole2HasNoZeroPoints", "int8_matmul", kProduct,
                  {{"symmetric", "true"}}),
    register_hole("int8_tiles", "Hole2HasAScaleForEachColumn", "int8_matmul",
                  {{"M", 37}, {"N", 45}, {"K", 70}, {"GROUP", 70}})};

}  // namespace
