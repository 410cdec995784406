#include <gtest/gtest.h>

#include "common/operators/wkv/operator.hpp"
#include "common/testing/xray.hpp"

namespace {

using namespace emulator::xray;
using ladder::testing::xray_of;

const bool bounds = ladder::testing::register_bounds(
    "wkv_restrict", "wkv", {{"B", 1}, {"T", 21}, {"H", 3}, {"K", 4}, {"V", 4}});

const bool registered = ladder::testing::register_budget(
    "wkv_restrict", "wkv", {.loads = 4 * 64 + 1, .stores = 1, .atomics = 0});

// The promise affects when a load may begin. The loads and stores themselves stay as they are.
TEST(WkvRestrict, AsksForWhatChapter04AsksFor) {
  const ladder::WkvCase s{.B = 2, .T = 5, .H = 3, .K = 100, .V = 100};
  const Kernel before = xray_of<ladder::Wkv>("wkv_no_atomic", s);
  const Kernel after = xray_of<ladder::Wkv>("wkv_restrict", s);
  for (const Counter counter : {kGlobalLoadRequests, kGlobalLoadSectors, kGlobalStoreRequests,
                                kGlobalStoreSectors, kAtomics})
    EXPECT_EQ(after[counter], before[counter]);
}

}  // namespace
