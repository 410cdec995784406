#include <gtest/gtest.h>

#include "common/operators/wkv/operator.hpp"
#include "common/testing/xray.hpp"

namespace {

using namespace emulator::xray;
using ladder::testing::xray_of;

const ladder::Shape kShape{{"B", 2}, {"T", 5}, {"H", 3}, {"K", 64}, {"V", 64}};

const bool bounds = ladder::testing::register_bounds("wkv_one_barrier", "wkv", kShape);

// Each of 64 threads loads one element of q, k, log_w and v per step, and one of u for all five
// steps. The budget's shape needs 2 * 3 blocks.
const bool registered = ladder::testing::register_budget(
    "wkv_one_barrier", "wkv",
    {.loads = 4 + 1.0 / 5,
     .stores = 1,
     .atomics = 0,
     .counts = {{kBarriers, 1, "step of a block", 5 * 2 * 3},
                {kSharedStoreRequests, 3 + 1.0 / 5, "step of a warp", 5 * 2 * 3 * 2}}},
    kShape);

TEST(WkvOneBarrier, FetchesAnElementOncePerHead) {
  const Kernel kernel =
      xray_of<ladder::Wkv>("wkv_one_barrier", {.B = 2, .T = 7, .H = 3, .K = 64, .V = 64});
  for (const char* name : {"q", "k", "log_w", "v"})
    EXPECT_EQ(kernel.buffer(name).loads().accesses_per_element.most, 1u) << name;
}

TEST(WkvOneBarrier, TakesOneBarrierPerStepAndConflictsInNoBank) {
  const ladder::WkvCase s{.B = 2, .T = 7, .H = 3, .K = 64, .V = 64};
  const Kernel kernel = xray_of<ladder::Wkv>("wkv_one_barrier", s);
  EXPECT_EQ(kernel[kBarriers], static_cast<std::uint64_t>(s.T * s.B * s.H));
  EXPECT_GT(kernel[kSharedLoadRequests], 0u);
  EXPECT_EQ(kernel[kSharedLoadBankConflicts] + kernel[kSharedStoreBankConflicts], 0u);
}

// The table of the page.
TEST(WkvOneBarrier, CountsWhatThePageSays) {
  const Kernel kernel =
      xray_of<ladder::Wkv>("wkv_one_barrier", {.B = 1, .T = 54, .H = 32, .K = 64, .V = 64});
  EXPECT_EQ(kernel[kGlobalLoadRequests], 13888u);
  EXPECT_EQ(kernel[kSharedLoadRequests], 221184u);
  EXPECT_EQ(kernel[kBarriers], 1728u);
  EXPECT_EQ(kernel[kSharedBytes], 1792u);
}

}  // namespace
