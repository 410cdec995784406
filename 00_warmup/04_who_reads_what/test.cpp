#include "common/testing/suite.hpp"

#include <gtest/gtest.h>

#include <set>

#include "00_warmup/04_who_reads_what/warp_copy.hpp"
#include "00_warmup/hole_tests.hpp"

namespace warmup {
namespace {

// A block of the kernels with several elements a thread copies 2048.
const ladder::Support kSupport{.sizes = {{"N", {2351, 1, 31, 33, 256, 2048, 4099}}}};
const bool registered = ladder::testing::register_suite("warp_copy", "copy_broadcast", kSupport) &&
                        ladder::testing::register_suite("warp_copy", "copy_strided", kSupport) &&
                        ladder::testing::register_suite("warp_copy", "copy_misaligned", kSupport) &&
                        ladder::testing::register_suite("warp_copy", "copy_coalesced", kSupport) &&
                        ladder::testing::register_suite("warp_copy", "copy_vector", kSupport);

const bool holes[] = {
    register_hole("copy_coalesced", "Hole2CopiesEachElement", "warp_copy", {{"N", 5000}}),
    register_hole("copy_vector", "Hole3CopiesFourElementsAtOnce", "warp_copy", {{"N", 4099}})};

// A request of 32 lanes, lane l from byte first + l * apart on.
void expect_predicted(ReadPattern pattern, int first, int apart, int bytes) {
  std::set<int> sectors;
  for (int lane = 0; lane < 32; ++lane) {
    for (int byte = 0; byte < bytes; ++byte)
      sectors.insert((first + lane * apart + byte) / 32);
  }
  EXPECT_EQ(predicted_sectors(pattern), static_cast<int>(sectors.size()))
      << "WRONG RESULT: lane l reads " << bytes << " bytes from byte " << first << " + l * "
      << apart << " on; how many pieces of 32 bytes do the lanes touch together?";
}

TEST(PredictedSectors, Hole1OfABroadcast) {
  expect_predicted(ReadPattern::kBroadcast, 0, 0, 4);
}
TEST(PredictedSectors, Hole1OfStridedReads) {
  expect_predicted(ReadPattern::kStrided, 0, 32, 4);
}
TEST(PredictedSectors, Hole1OfMisalignedReads) {
  expect_predicted(ReadPattern::kMisaligned, 4, 4, 4);
}
TEST(PredictedSectors, Hole1OfCoalescedReads) {
  expect_predicted(ReadPattern::kCoalesced, 0, 4, 4);
}
TEST(PredictedSectors, Hole1OfVectors) {
  expect_predicted(ReadPattern::kVector, 0, 16, 16);
}

}  // namespace
}  // namespace warmup
