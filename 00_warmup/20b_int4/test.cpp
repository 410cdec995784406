#include "00_warmup/hole_tests.hpp"
#include "common/testing/suite.hpp"

namespace {

// A part is 32 k, an iteration of the block 64 parts, a chunk of A 8192 k. If K or N is no multiple
// of 4, nothing is read in fours.
const bool registered = ladder::testing::register_suite(
    "int4_matmul", "int4_row",
    {.sizes = {{"M", {3, 1}},
               {"N", {36, 1, 32, 37}},
               {"K", {1100, 1, 37, 64, 1024}},
               {"GROUP", {32, 128, 4096}}},
     .options = {{"symmetric", {"false", "true"}}},
     .borders = {
         {.size = "N", .at = {32, 64}, .others = {{"M", 2}, {"GROUP", 32}}},
         {.size = "N", .at = {32, 64}, .others = {{"M", 2}, {"K", 32}, {"GROUP", 32}}, .step = 4},
         {.size = "K", .at = {32, 1024, 2048, 8192}, .others = {{"M", 2}, {"GROUP", 32}}},
         {.size = "K", .at = {8192}, .others = {{"M", 2}, {"GROUP", 32}}, .step = 4}}});

using warmup::register_hole;

const bool holes[] = {
    register_hole("int4_row", "Hole1UnpacksOneWordOfAColumn", "int4_matmul",
                  {{"M", 2}, {"N", 36}, {"K", 8}, {"GROUP", 32}}),
    register_hole("int4_row", "Hole1SubtractsZeroPoints", "int4_matmul",
                  {{"M", 2}, {"N", 37}, {"K", 30}, {"GROUP", 32}}),
    register_hole("int4_row", "Hole2AddsUpSlices", "int4_matmul",
                  {{"M", 2}, {"N", 36}, {"K", 128}, {"GROUP", 32}}),
    register_hole("int4_row", "Hole2AddsUpWarps", "int4_matmul",
                  {{"M", 2}, {"N", 36}, {"K", 1100}, {"GROUP", 64}}),
};

}  // namespace
