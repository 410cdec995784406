#include <gtest/gtest.h>

#include "common/operators/wkv/operator.hpp"
#include "common/testing/xray.hpp"

namespace {

using namespace emulator::xray;
using ladder::testing::xray_of;

const bool bounds = ladder::testing::register_bounds(
    "wkv_block_128", "wkv", {{"B", 1}, {"T", 21}, {"H", 3}, {"K", 4}, {"V", 4}});

const bool registered = ladder::testing::register_budget(
    "wkv_block_128", "wkv", {.loads = 4 * 64 / 4 + 1, .stores = 1, .atomics = 0});

// The requests of a warp do not depend on how many warps are in its block.
TEST(WkvBlockSize, AsksForWhatChapter05AsksFor) {
  const ladder::WkvCase s{.B = 2, .T = 5, .H = 3, .K = 64, .V = 64};
  const Kernel before = xray_of<ladder::Wkv>("wkv_float4", s);
  const Kernel after = xray_of<ladder::Wkv>("wkv_block_128", s);
  for (const Counter counter :
       {kGlobalLoadRequests, kGlobalLoadSectors, kGlobalStoreRequests, kGlobalStoreSectors})
    EXPECT_EQ(after[counter], before[counter]);
}

}  // namespace
