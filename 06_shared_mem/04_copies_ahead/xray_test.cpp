#include <gtest/gtest.h>

#include "common/operators/wkv/operator.hpp"
#include "common/testing/xray.hpp"

namespace {

using namespace emulator::xray;
using ladder::testing::xray_of;

const ladder::Shape kShape{{"B", 2}, {"T", 37}, {"H", 3}, {"K", 64}, {"V", 64}};

constexpr std::int64_t kCopies =
    4 * 16 * 64 / 4;  // of a tile, 16 steps of q, k, log_w and v, four elements each

const bool bounds = ladder::testing::register_bounds("wkv_copies_ahead", "wkv", kShape);

// Each of q, k, log_w and v is copied once, four elements at a time, and a thread loads four of u.
// A block needs one barrier for each of its three tiles.
const bool registered = ladder::testing::register_budget(
    "wkv_copies_ahead", "wkv",
    {.loads = 1 + 1.0 / 37,
     .stores = 1,
     .atomics = 0,
     .counts = {{kBarriers, 1, "tile of a block", 3 * 2 * 3},
                {kSharedLoadBankConflicts, 0, "launch", 1},
                // Before the first tile there is nothing to compute.
                {kAsyncCopiesAtOnce, 1, "copy of a block's first tile", 2 * 3 * kCopies}}},
    kShape);

TEST(WkvCopiesAhead, TakesOneBarrierPerTileAndConflictsInNoBank) {
  const ladder::WkvCase s{.B = 2, .T = 37, .H = 3, .K = 64, .V = 64};
  const Kernel kernel = xray_of<ladder::Wkv>("wkv_copies_ahead", s);
  for (const char* name : {"q", "k", "log_w", "v"})
    EXPECT_EQ(kernel.buffer(name).loads().accesses_per_element.most, 1u) << name;
  EXPECT_EQ(kernel[kBarriers], 3u * s.B * s.H);
  EXPECT_EQ(kernel[kAsyncCopies], 3u * kCopies * s.B * s.H);
  EXPECT_EQ(kernel[kAsyncCopiesAtOnce], kCopies * s.B * s.H) << "those of the first tile";
  EXPECT_EQ(kernel[kSharedLoadBankConflicts], 0u);
  EXPECT_EQ(kernel[kSharedStoreBankConflicts], 0u);
  // Per step, a warp reads q, k and w 16 times each, then v and the bonus. It reads 12 times for
  // each tile that it prepares.
  EXPECT_EQ(kernel[kSharedLoadRequests], (37 * 50 + 3 * 12) * 2 * s.B * s.H);
}

// The table of the page.
TEST(WkvCopiesAhead, CountsWhatThePageSays) {
  const Kernel kernel =
      xray_of<ladder::Wkv>("wkv_copies_ahead", {.B = 1, .T = 54, .H = 32, .K = 64, .V = 64});
  EXPECT_EQ(kernel[kGlobalLoadRequests], 3648u);
  EXPECT_EQ(kernel[kSharedLoadRequests], 175872u);
  EXPECT_EQ(kernel[kSharedLoadWavefronts], 350976u);
  EXPECT_EQ(kernel[kBarriers], 128u);
  EXPECT_EQ(kernel[kShuffles], 4096u);
  EXPECT_EQ(kernel[kSharedBytes], 32896u);
}

}  // namespace
