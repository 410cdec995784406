#include "common/testing/xray.hpp"

#include <gtest/gtest.h>

#include <string>

#include "00_warmup/04_who_reads_what/warp_copy.hpp"

namespace warmup {
namespace {

using namespace emulator::xray;

const bool registered =
    ladder::testing::register_budget("copy_coalesced", "warp_copy",
                                     {.loads = 1, .stores = 1, .atomics = 0}, {{"N", 2351}}) &&
    // A quarter, because one load of 16 bytes covers four elements, and up to three single ones.
    ladder::testing::register_budget("copy_vector", "warp_copy",
                                     {.loads = 590 / 2351.0, .stores = 590 / 2351.0, .atomics = 0},
                                     {{"N", 2351}});
const ladder::Shape kRagged = {{"N", 2351}};
const bool bounds = ladder::testing::register_bounds("copy_broadcast", "warp_copy", kRagged) &&
                    ladder::testing::register_bounds("copy_strided", "warp_copy", kRagged) &&
                    ladder::testing::register_bounds("copy_misaligned", "warp_copy", kRagged) &&
                    ladder::testing::register_bounds("copy_coalesced", "warp_copy", kRagged) &&
                    ladder::testing::register_bounds("copy_vector", "warp_copy", kRagged);

Kernel kernel_of(const std::string& implementation, std::int64_t N) {
  return ladder::testing::xray_of(implementation, "warp_copy", {{"N", N}});
}

// The README's table for N = 4096 floats, 128 groups of 32.
constexpr std::uint64_t kGroups = 128;

struct Counts {
  const char* implementation;
  ReadPattern pattern;
  std::uint64_t load_requests, load_sectors, store_requests, store_sectors;
};

TEST(WhoReadsWhat, MovesTheSectorsOfItsPattern) {
  for (const Counts& c : {
           Counts{"copy_broadcast", ReadPattern::kBroadcast, 32 * kGroups, 32 * kGroups, kGroups,
                  4 * kGroups},
           Counts{"copy_strided", ReadPattern::kStrided, kGroups, 32 * kGroups, kGroups,
                  32 * kGroups},
           // The last lane of all reads element 0 and not N, which is a fifth sector as well.
           Counts{"copy_misaligned", ReadPattern::kMisaligned, kGroups, 5 * kGroups, kGroups,
                  5 * kGroups},
           Counts{"copy_coalesced", ReadPattern::kCoalesced, kGroups, 4 * kGroups, kGroups,
                  4 * kGroups},
           Counts{"copy_vector", ReadPattern::kVector, kGroups / 4, 4 * kGroups, kGroups / 4,
                  4 * kGroups},
       }) {
    const Kernel kernel = kernel_of(c.implementation, 32 * kGroups);
    EXPECT_EQ(kernel[kGlobalLoadRequests], c.load_requests) << c.implementation;
    EXPECT_EQ(kernel[kGlobalLoadSectors], c.load_sectors) << c.implementation;
    EXPECT_EQ(kernel[kGlobalStoreRequests], c.store_requests) << c.implementation;
    EXPECT_EQ(kernel[kGlobalStoreSectors], c.store_sectors) << c.implementation;
    EXPECT_EQ(
        kernel[kGlobalLoadSectors],
        kernel[kGlobalLoadRequests] * static_cast<std::uint64_t>(predicted_sectors(c.pattern)))
        << c.implementation;
  }
}

// ./ladder exercise shows this output.
void expect_sectors(const char* implementation, double allowed) {
  ladder::testing::expect_within_budget(
      kernel_of(implementation, 32 * kGroups), kGlobalLoadSectors, kGlobalLoadRequests, allowed,
      "sectors per load request used, " + std::string(implementation));
}
TEST(SectorsOfTheCoalescedCopy, KeepsItsBudget) {
  expect_sectors("copy_coalesced", 4);
}
TEST(SectorsOfTheVectorCopy, KeepsItsBudget) {
  expect_sectors("copy_vector", 16);
}

}  // namespace
}  // namespace warmup
