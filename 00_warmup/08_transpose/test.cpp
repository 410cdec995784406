#include "00_warmup/hole_tests.hpp"
#include "common/testing/suite.hpp"

namespace {

// Smaller than a tile, a tile, more than one, and ragged.
bool register_transpose(const char* name) {
  return ladder::testing::register_suite(
      "transpose", name, {.sizes = {{"M", {37, 1, 32, 64, 100}}, {"N", {38, 1, 32, 64, 132}}}});
}

const bool registered =
    register_transpose("transpose_at_the_write") && register_transpose("transpose_at_the_read") &&
    register_transpose("transpose_unpadded") && register_transpose("transpose_tiled") &&
    register_transpose("transpose_wide");

using chapter00::register_hole;

// The third hole's light is the X-ray's: the kernel is right without it.
const bool holes[] = {
    register_hole("transpose_at_the_write", "Hole1ReadsAndWritesItsElements", "transpose",
                  {{"M", 37}, {"N", 70}}),
    register_hole("transpose_unpadded", "Hole2TurnsTiles", "transpose", {{"M", 37}, {"N", 70}})};

}  // namespace
