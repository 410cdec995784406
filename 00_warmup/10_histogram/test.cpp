#include "00_warmup/hole_tests.hpp"
#include "common/testing/suite.hpp"

namespace {

// More bins than a block has threads, too.
bool register_histogram(const char* name) {
  return ladder::testing::register_suite(
      "histogram", name,
      {.sizes = {{"N", {1037, 1, 256, 4100}}, {"BINS", {300, 37, 1, 256}}},
       .options = {{"one_bin", {"false", "true"}}}});
}

const bool registered =
    register_histogram("histogram_global") && register_histogram("histogram_private");

using chapter00::register_hole;

const bool holes[] = {
    register_hole("histogram_global", "Hole1Counts", "histogram", {{"N", 1037}, {"BINS", 37}}),
    register_hole("histogram_private", "Hole2CountsInItsOwnBins", "histogram",
                  {{"N", 1037}, {"BINS", 300}})};

}  // namespace
