#include "common/testing/xray.hpp"

#include <gtest/gtest.h>

namespace {

using namespace emulator::xray;

// One tile of rows and two of columns, so each element of A is loaded twice and each of B once.
// Both blocks have two tiles along K, and walk through their 64 columns and rows with 16 warps.
const bool registered =
    ladder::testing::register_budget("matmul_eight_results", "matmul",
                                     {.loads = (2 * 37 * 40 + 40 * 70) / (37.0 * 70.0),
                                      .stores = 1,
                                      .counts = {{kSharedLoadRequests, 9, "step of a warp", 2048},
                                                 {kSharedLoadBankConflicts, 0, "tile", 4},
                                                 {kSharedStoreBankConflicts, 0, "tile", 4},
                                                 {kBarriers, 2, "tile", 4}}},
                                     {{"M", 37}, {"N", 70}, {"K", 40}});

TEST(MatmulEightResults, ReadsSharedMemoryNineTimesForEightMultiplyAdds) {
  constexpr std::uint64_t kM = 128, kN = 192, kK = 64, kMultiplyAdds = kM * kN * kK / kWarpSize;
  const auto counted = [](const char* implementation) {
    return ladder::testing::xray_of(implementation, "matmul", {{"M", kM}, {"N", kN}, {"K", kK}});
  };
  const Kernel before = counted("matmul_tiles"), after = counted("matmul_eight_results");
  EXPECT_EQ(before[kSharedLoadRequests], 2 * kMultiplyAdds);
  EXPECT_EQ(after[kSharedLoadRequests], kMultiplyAdds * 9 / 8);
  EXPECT_EQ(before.buffer("a").loads().accesses_per_element.most, kN / 32);
  EXPECT_EQ(after.buffer("a").loads().accesses_per_element.most, kN / 64);
  EXPECT_EQ(before.buffer("b").loads().accesses_per_element.most, kM / 32);
  EXPECT_EQ(after.buffer("b").loads().accesses_per_element.most, kM / 64);
  EXPECT_EQ(before[kBarriers], kM / 32 * (kN / 32) * (kK / 32) * 2);
  EXPECT_EQ(after[kBarriers], kM / 64 * (kN / 64) * (kK / 32) * 2);
  for (const Kernel& kernel : {before, after}) {
    EXPECT_EQ(kernel[kGlobalLoadBytesMoved], kernel[kGlobalLoadBytesAsked]);
    EXPECT_EQ(kernel[kSharedLoadBankConflicts], 0u);
    EXPECT_EQ(kernel[kSharedStoreBankConflicts], 0u);
  }
}

}  // namespace
