#include <gtest/gtest.h>

#include "common/operators/wkv/operator.hpp"
#include "common/testing/xray.hpp"

namespace {

using namespace emulator::xray;
using ladder::testing::xray_of;

const ladder::Shape kShape{{"B", 2}, {"T", 21}, {"H", 3}, {"K", 64}, {"V", 64}};

const bool bounds = ladder::testing::register_bounds("wkv_chunks", "wkv", kShape);

// 21 steps are two chunks. Each of 64 threads loads an element of q, k, log_w and v for each of
// their 32 steps, and an element of u. Per chunk a warp stores 16 rows each of q, k, w, q~, k~ and
// the scores, and one row of decays. Once it stores a row of u.
const bool registered = ladder::testing::register_budget(
    "wkv_chunks", "wkv",
    {.loads = (4 * 32 + 1) / 21.0,
     .stores = 1,
     .atomics = 0,
     .counts = {{kBarriers, 3, "chunk of a block", 2 * 2 * 3},
                {kSharedStoreRequests, 6 * 16 + 1 + 1.0 / 2, "chunk of a warp", 2 * 2 * 3 * 2}}},
    kShape);

Kernel xray_of_steps(std::int64_t T) {
  return xray_of<ladder::Wkv>("wkv_chunks", {.B = 1, .T = T, .H = 2, .K = 64, .V = 64});
}

TEST(WkvChunks, FetchesAnElementOncePerHead) {
  const Kernel kernel = xray_of_steps(32);
  for (const char* name : {"q", "k", "log_w", "v"}) {
    const Traffic& loads = kernel.buffer(name).loads();
    EXPECT_EQ(loads.accesses_per_element.least, 1u) << name;
    EXPECT_EQ(loads.accesses_per_element.most, 1u) << name;
  }
  EXPECT_EQ(kernel.buffer("o").stores().accesses_per_element.most, 1u);
}

// The table of the page.
TEST(WkvChunks, CountsWhatThePageSays) {
  const Kernel kernel = xray_of_steps(64);
  EXPECT_EQ(kernel[kGlobalLoadRequests], 1028u);
  EXPECT_EQ(kernel[kBarriers], 24u);
  EXPECT_EQ(kernel[kSharedLoadRequests], 12096u);
  EXPECT_EQ(kernel[kSharedLoadWavefronts], 25344u);
  EXPECT_EQ(kernel[kSharedLoadBankConflicts], 512u);
  EXPECT_EQ(kernel[kSharedStoreRequests], 1556u);
  EXPECT_EQ(kernel[kSharedStoreBankConflicts], 0u);
  EXPECT_EQ(kernel[kShuffles], 512u);
  EXPECT_EQ(kernel[kSharedBytes], 23296u);
}

}  // namespace
