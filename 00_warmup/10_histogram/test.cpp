#include <gtest/gtest.h>

#include <stdexcept>

#include "00_warmup/10_histogram/histogram.hpp"
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

using warmup::register_hole;

const bool holes[] = {
    register_hole("histogram_global", "Hole1Counts", "histogram", {{"N", 1037}, {"BINS", 37}}),
    register_hole("histogram_private", "Hole2CountsInItsOwnBins", "histogram",
                  {{"N", 1037}, {"BINS", 300}})};

// 48 KB of shared memory are 12,288 bins.
TEST(histogram_private, RefusesMoreBinsThanABlocksSharedMemoryHolds) {
  std::int32_t counts = 0;
  warmup::HistogramArgs args;
  args.N = 0, args.BINS = 12289, args.counts = &counts;
  try {
    ladder::launch<warmup::Histogram>(ladder::find_implementation("histogram_private"), args);
    FAIL() << "was accepted";
  } catch (const std::invalid_argument& error) {
    EXPECT_STREQ(error.what(), "BINS is 12289; histogram_private allows 1 to 12288");
  }
}

}  // namespace
