#include "common/testing/xray.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace {

using namespace emulator::xray;

// One tile of rows and two of columns, each with three tiles along K, so that the first buffer is
// used again. A load of 16 bytes counts once.
const bool registered = ladder::testing::register_budget(
    "matmul_double_buffer", "matmul",
    {.loads = (2 * 37 * 20 + 20 * 132) / 4 / (37.0 * 132.0),
     .stores = 1.0 / 4,
     .counts = {{kBarriers, 1, "tile, and one before the first", 2 * (1 + 3)},
                {kSharedLoadRequests, 4, "step of a warp", 384},
                {kSharedLoadBankConflicts, 0, "tile", 6},
                {kSharedStoreBankConflicts, 0, "tile", 6}}},
    {{"M", 37}, {"N", 132}, {"K", 20}});

const bool bounds = ladder::testing::register_bounds("matmul_double_buffer", "matmul",
                                                     {{"M", 37}, {"N", 131}, {"K", 21}});

// One block.
Kernel counted(const char* implementation, std::int64_t K) {
  return ladder::testing::xray_of(implementation, "matmul", {{"M", 128}, {"N", 128}, {"K", K}});
}

// The loads of the first warp, in order.
std::vector<std::string> loads_of(const Kernel& kernel) {
  std::vector<std::string> order;
  for (const Step& s : kernel.steps) {
    const Access& access = kernel.accesses[s.access];
    if (access.operation == Operation::kLoad)
      order.push_back(access.space == Space::kGlobal ? s.buffer : "shared");
  }
  return order;
}

// Counts the four loads of two tiles of A and two of B.
TEST(LoadsOfTheNextTiles, KeepsItsBudget) {
  const std::vector<std::string> order = loads_of(counted("matmul_double_buffer", 16));
  const auto first = std::find(order.begin(), order.end(), "shared");
  const auto late = order.end() - first - std::count(first, order.end(), "shared");
  ladder::testing::expect_within_budget(
      static_cast<double>(late), 0, "global loads behind the first products, first warp, 2 tiles");
}

TEST(MatmulDoubleBuffer, FetchesTheNextTilesBeforeItMultiplies) {
  std::vector<std::string> before = loads_of(counted("matmul_wide_loads", 16)),
                           after = loads_of(counted("matmul_double_buffer", 16));
  for (std::vector<std::string>* const order : {&before, &after})
    order->erase(std::unique(order->begin(), order->end()), order->end());
  EXPECT_EQ(before, (std::vector<std::string>{"a", "b", "shared", "a", "b", "shared"}));
  EXPECT_EQ(after, (std::vector<std::string>{"a", "b", "a", "b", "shared"}));
}

TEST(MatmulDoubleBuffer, HasOneBarrierForEachTileAndElseTheCountsOfWideLoads) {
  const Kernel before = counted("matmul_wide_loads", 16),
               after = counted("matmul_double_buffer", 16);
  EXPECT_EQ(before.static_shared_bytes, sizeof(float) * 8 * (132 + 128));
  EXPECT_EQ(after.static_shared_bytes, 2 * before.static_shared_bytes);
  EXPECT_EQ(before[kBarriers], 2u * 2);
  EXPECT_EQ(after[kBarriers], 1u + 2);
  EXPECT_EQ(counted("matmul_double_buffer", 24)[kBarriers], 1u + 3);
  for (const Counter counter :
       {kGlobalLoadRequests, kGlobalLoadBytesMoved, kGlobalStoreRequests, kGlobalStoreBytesMoved,
        kSharedLoadRequests, kSharedLoadWavefronts, kSharedLoadBankConflicts, kSharedStoreRequests,
        kSharedStoreBankConflicts})
    EXPECT_EQ(before[counter], after[counter]) << info(counter).name;
}

}  // namespace
