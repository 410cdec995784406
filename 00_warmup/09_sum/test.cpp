#include "00_warmup/hole_tests.hpp"
#include "common/testing/suite.hpp"

namespace {

// Less than a warp, ragged, exactly a block of vectors, several blocks.
bool register_sum(const char* name, bool repeatable) {
  return ladder::testing::register_suite(
      "sum", name,
      {.repeatable = repeatable, .sizes = {{"N", {1037, 1, 3, 32, 255, 256, 1024, 5003}}}});
}

// Atomic additions come in any order, and each order rounds in its own way.
const bool registered = register_sum("sum_atomic", false) && register_sum("sum_tree", false) &&
                        register_sum("sum_shuffle", false) && register_sum("sum_two_passes", true);

using warmup::register_hole;

const bool holes[] = {register_hole("sum_tree", "Hole1AddsUpBlocks", "sum", {{"N", 1037}}),
                      register_hole("sum_shuffle", "Hole2AddsUpWarps", "sum", {{"N", 1037}})};

}  // namespace
