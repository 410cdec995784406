#include "00_warmup/hole_tests.hpp"
#include "common/testing/suite.hpp"

namespace {

// K is split after each 1024 if there are few blocks, and a chunk of A is 9216 k. On one SM two
// blocks are enough, and K = 10,300 is one split with two chunks. Three units of 1024 are two
// splits there, and seven on two are four, of which the last split has one unit and the others two.
bool register_split(const char* name, bool repeatable) {
  return ladder::testing::register_suite(
      "int4_matmul", name,
      {.repeatable = repeatable,
       .sizes = {{"M", {3, 1}},
                 {"N", {36, 1, 32, 37}},
                 {"K", {1100, 1, 37, 64, 1024}},
                 {"GROUP", {32, 128, 4096}}},
       .options = {{"symmetric", {"false", "true"}}},
       .borders = {
           {.size = "K", .at = {1024, 2048}, .others = {{"M", 2}, {"GROUP", 32}}},
           {.size = "K",
            .at = {1024, 9216},
            .others = {{"M", 2}, {"GROUP", 32}},
            .step = 4,
            .multiprocessors = 1},
           {.size = "K", .at = {2100}, .others = {{"M", 1}, {"GROUP", 32}}, .multiprocessors = 1},
           {.size = "K",
            .at = {6200},
            .others = {{"M", 1}, {"GROUP", 32}},
            .step = 4,
            .multiprocessors = 2}}});
}
const bool registered =
    register_split("int4_split_atomic", false) && register_split("int4_split_second_pass", true);

using warmup::register_hole;

const ladder::Shape kTwoSplits = {{"M", 2}, {"N", 36}, {"K", 1100}, {"GROUP", 32}};
const bool holes[] = {
    register_hole("int4_split_atomic", "Hole1AddsUpSplitsOfK", "int4_matmul", kTwoSplits),
    register_hole("int4_split_second_pass", "Hole2AddsUpPartialSums", "int4_matmul", kTwoSplits)};

}  // namespace
