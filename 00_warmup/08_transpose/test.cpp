#include <gtest/gtest.h>

#include <stdexcept>
#include <string>

#include "00_warmup/08_transpose/transpose.hpp"
#include "00_warmup/hole_tests.hpp"
#include "common/testing/suite.hpp"

namespace {

// Smaller than a tile, one tile, several tiles, and a partial one.
bool register_transpose(const char* name) {
  return ladder::testing::register_suite(
      "transpose", name,
      {.sizes = {{"M", {37, 1, 32, 64, 100}}, {"N", {38, 1, 32, 64, 132}}},
       .borders = {{.size = "M", .at = {32, 64, 128}, .others = {{"N", 8}}, .step = 4},
                   {.size = "N", .at = {32, 64, 128}, .others = {{"M", 8}}, .step = 4}}});
}

const bool registered =
    register_transpose("transpose_at_the_write") && register_transpose("transpose_at_the_read") &&
    register_transpose("transpose_unpadded") && register_transpose("transpose_tiled") &&
    register_transpose("transpose_wide");

using warmup::register_hole;

// The third hole's light is the X-ray's, because the kernel is right without it.
const bool holes[] = {
    register_hole("transpose_at_the_write", "Hole1ReadsAndWritesItsElements", "transpose",
                  {{"M", 37}, {"N", 70}}),
    register_hole("transpose_unpadded", "Hole2TurnsTiles", "transpose", {{"M", 37}, {"N", 70}}),
    register_hole("transpose_wide", "Hole4TurnsVectors", "transpose", {{"M", 36}, {"N", 72}})};

// A grid's y dimension is limited to 65,535 blocks.
TEST(transpose_tiled, RefusesMoreRowsThanAGridHolds) {
  warmup::TransposeArgs args;
  args.M = 65535 * 32 + 1, args.N = 0;
  try {
    ladder::launch<warmup::Transpose>(ladder::find_implementation("transpose_tiled"), args);
    FAIL() << "was accepted";
  } catch (const std::invalid_argument& error) {
    EXPECT_STREQ(error.what(), "M is 2097121; allowed: up to 2097120");
  }
}

}  // namespace
