#include "00_warmup/hole_tests.hpp"
#include "common/testing/suite.hpp"

namespace {

// Also covers more bins than threads in a block.
const ladder::Support kSupport{.sizes = {{"N", {1039, 1, 256, 4100}}, {"BINS", {300, 37, 1, 256}}},
                               .options = {{"one_bin", {"false", "true"}}}};

// An iteration of the grid covers 8 blocks of 256 times four values per SM. 48 KB of shared memory
// are 12,288 bins.
ladder::Support with_private_bins() {
  ladder::Support support = kSupport;
  support.most = {{"BINS", 12288}};
  support.borders = {{.size = "N",
                      .at = {2 * 8 * 256 * 4},
                      .others = {{"BINS", 37}},
                      .step = 4,
                      .multiprocessors = 2},
                     {.size = "BINS", .at = {256, 12288}}};
  return support;
}

const bool registered =
    ladder::testing::register_suite("histogram", "histogram_global", kSupport) &&
    ladder::testing::register_suite("histogram", "histogram_private", with_private_bins());

using warmup::register_hole;

const bool holes[] = {
    register_hole("histogram_global", "Hole1Counts", "histogram", {{"N", 1037}, {"BINS", 37}}),
    register_hole("histogram_private", "Hole2CountsInItsOwnBins", "histogram",
                  {{"N", 1039}, {"BINS", 300}})};

}  // namespace
