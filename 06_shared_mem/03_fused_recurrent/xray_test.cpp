#include <gtest/gtest.h>

#include "common/operators/wkv/operator.hpp"
#include "common/testing/xray.hpp"

namespace {

using namespace emulator::xray;
using ladder::testing::xrays_of;

// For both K tiles a lane loads q, k, log_w and v once per step, u once for all five steps, and
// stores its part of o. The second pass loads both parts and stores o. A warp computes a tile of 32
// x 32.
constexpr std::int64_t kStepsOfWarps = 5 * (2 * 3) * (64 / kWarpSize) * (64 / kWarpSize);
const bool bounds = ladder::testing::register_bounds(
    "wkv_fused_recurrent", "wkv", ladder::testing::kRaggedShape,
    {{"initial_state", "true"}, {"final_state", "true"}}, {"fp32", "bf16", "bf16_fp32_decay"});

const bool registered = ladder::testing::register_budget(
    "wkv_fused_recurrent", "wkv",
    {.loads = 2 * (4 + 1.0 / 5) + 2,
     .stores = 2 + 1,
     .atomics = 0,
     .counts = {{kShuffles, 5, "step of a warp", kStepsOfWarps},
                {kSharedStoreRequests, 3, "step of a warp", kStepsOfWarps},
                {kBarriers, 0, "step of a warp", kStepsOfWarps}}});

TEST(WkvFusedRecurrent, FetchesAnElementOncePerTile) {
  const ladder::WkvCase s{.B = 2, .T = 5, .H = 3, .K = 100, .V = 70};
  const std::vector<Kernel> kernels = xrays_of<ladder::Wkv>("wkv_fused_recurrent", s);
  ASSERT_EQ(kernels.size(), 2u);
  const std::uint64_t column_tiles = (70 + 31) / 32, row_tiles = (100 + 31) / 32;
  for (const char* name : {"q", "k", "log_w"}) {
    const Traffic& loads = kernels[0].buffer(name).loads();
    EXPECT_EQ(loads.accesses_per_element.least, column_tiles) << name;
    EXPECT_EQ(loads.accesses_per_element.most, column_tiles) << name;
  }
  EXPECT_EQ(kernels[0].buffer("v").loads().accesses_per_element.most, row_tiles);
  EXPECT_EQ(kernels[1].buffer("o").stores().accesses_per_element.most, 1u);
}

TEST(WkvFusedRecurrent, ConflictsInNoBankAndNeedsNoBarrierOfTheBlock) {
  const ladder::WkvCase s{.B = 1, .T = 6, .H = 2, .K = 64, .V = 64};
  const std::vector<Kernel> kernels = xrays_of<ladder::Wkv>("wkv_fused_recurrent", s);
  ASSERT_EQ(kernels.size(), 2u);
  EXPECT_GT(kernels[0][kSharedLoadRequests], 0u);
  EXPECT_EQ(kernels[0][kSharedLoadBankConflicts] + kernels[0][kSharedStoreBankConflicts], 0u);
  EXPECT_EQ(kernels[0][kBarriers], 0u);
  const std::uint64_t warps = s.B * s.H * (s.K / kWarpSize) * (s.V / kWarpSize);
  EXPECT_EQ(kernels[0][kShuffles], 5 * s.T * warps);
}

// The example of the original code, with 4 x 4 tiles for each of 16 heads. With a block per head
// there are only 16 blocks (the chapter's xray_test.cpp).
TEST(WkvFusedRecurrent, HasABlockForEachTile) {
  const ladder::WkvCase s{.B = 4, .T = 1, .H = 4, .K = 100, .V = 100};
  const Kernel kernel = xrays_of<ladder::Wkv>("wkv_fused_recurrent", s)[0];
  EXPECT_EQ(kernel.grid.x * kernel.grid.y * kernel.grid.z, 256u);
  EXPECT_EQ(kernel.block.x, 32u);
}

}  // namespace
