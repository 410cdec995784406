#include <gtest/gtest.h>

#include "common/operators/wkv/operator.hpp"
#include "common/testing/xray.hpp"

namespace {

using namespace emulator::xray;
using ladder::testing::xray_of;

const ladder::Shape kShape{{"B", 2}, {"T", 37}, {"H", 3}, {"K", 64}, {"V", 64}};

const bool bounds = ladder::testing::register_bounds("wkv_four_steps", "wkv", kShape);

// Each of q, k, log_w and v is copied once, four elements at a time, and a thread loads four of u.
// A block needs one barrier for each of its three tiles.
const bool registered =
    ladder::testing::register_budget("wkv_four_steps", "wkv",
                                     {.loads = 1 + 1.0 / 37,
                                      .stores = 1.0 / 4,
                                      .atomics = 0,
                                      .counts = {{kBarriers, 1, "tile of a block", 3 * 2 * 3},
                                                 {kSharedLoadBankConflicts, 0, "launch", 1}}},
                                     kShape);

TEST(WkvFourSteps, TakesOneBarrierPerTileAndConflictsInNoBank) {
  const ladder::WkvCase s{.B = 2, .T = 37, .H = 3, .K = 64, .V = 64};
  const Kernel kernel = xray_of<ladder::Wkv>("wkv_four_steps", s);
  for (const char* name : {"q", "k", "log_w", "v"})
    EXPECT_EQ(kernel.buffer(name).loads().accesses_per_element.most, 1u) << name;
  EXPECT_EQ(kernel[kBarriers], 3u * s.B * s.H);
  EXPECT_EQ(kernel[kSharedLoadBankConflicts], 0u);
  EXPECT_EQ(kernel[kSharedStoreBankConflicts], 0u);
  // Per step group, a warp reads nine rows four times, v four times and the scores once. It reads
  // 12 times for each tile that it prepares.
  EXPECT_EQ(kernel[kSharedLoadRequests], (10 * (4 * 9 + 4 + 1) + 3 * 12) * 2 * s.B * s.H);
}

// The table of the page.
TEST(WkvFourSteps, CountsWhatThePageSays) {
  const Kernel kernel =
      xray_of<ladder::Wkv>("wkv_four_steps", {.B = 1, .T = 54, .H = 32, .K = 64, .V = 64});
  EXPECT_EQ(kernel[kSharedLoadRequests], 39808u);
  EXPECT_EQ(kernel[kSharedLoadWavefronts], 151936u);
  EXPECT_EQ(kernel[kShuffles], 14592u);
}

}  // namespace
