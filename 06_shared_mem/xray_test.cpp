#include <gtest/gtest.h>

#include "common/operators/wkv/operator.hpp"
#include "common/testing/xray.hpp"

namespace {

using namespace emulator::xray;
using ladder::testing::xray_of;

const bool bounds = ladder::testing::register_bounds(
    "wkv_shared_mem", "wkv", ladder::testing::kRaggedShape,
    {{"initial_state", "true"}, {"final_state", "true"}}, {"fp32", "bf16", "bf16_fp32_decay"});

// Each of 64 threads loads one element of q, k, log_w and v per step, and one of u for all five
// steps. The budget's shape needs 2 * 3 blocks.
const bool registered =
    ladder::testing::register_budget("wkv_shared_mem", "wkv",
                                     {.loads = 4 + 1.0 / 5,
                                      .stores = 1,
                                      .atomics = 0,
                                      .counts = {{kBarriers, 2, "step of a block", 5 * 2 * 3}}});

TEST(WkvSharedMem, FetchesAnElementOncePerHead) {
  for (const auto& [K, V] : {std::pair{64, 64}, {100, 37}, {20, 100}}) {
    const ladder::WkvCase s{.B = 2, .T = 5, .H = 3, .K = K, .V = V};
    const Kernel kernel = xray_of<ladder::Wkv>("wkv_shared_mem", s);
    for (const char* name : {"q", "k", "log_w", "v"}) {
      const Traffic& loads = kernel.buffer(name).loads();
      EXPECT_EQ(loads.accesses_per_element.least, 1u) << name;
      EXPECT_EQ(loads.accesses_per_element.most, 1u) << name;
    }
    EXPECT_EQ(kernel.buffer("u").loads().accesses_per_element.most,
              static_cast<std::uint64_t>(s.B));
    EXPECT_EQ(kernel.buffer("o").stores().accesses_per_element.most, 1u);
  }
}

TEST(WkvSharedMem, TakesTwoBarriersPerStepAndConflictsInNoBank) {
  const ladder::WkvCase s{.B = 2, .T = 7, .H = 3, .K = 64, .V = 64};
  const Kernel kernel = xray_of<ladder::Wkv>("wkv_shared_mem", s);
  EXPECT_EQ(kernel[kBarriers], static_cast<std::uint64_t>(2 * s.T * s.B * s.H));
  EXPECT_GT(kernel[kSharedLoadRequests], 0u);
  EXPECT_EQ(kernel[kSharedLoadBankConflicts], 0u);
  EXPECT_EQ(kernel[kSharedStoreBankConflicts], 0u);
}

// For comparison with the 256 blocks of lesson 03.
TEST(WkvSharedMem, HasABlockForEachHead) {
  const ladder::WkvCase s{.B = 4, .T = 1, .H = 4, .K = 100, .V = 100};
  const Kernel kernel = xray_of<ladder::Wkv>("wkv_shared_mem", s);
  EXPECT_EQ(kernel.grid.x * kernel.grid.y * kernel.grid.z, 16u);
}

}  // namespace
