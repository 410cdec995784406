#include "common/testing/xray.hpp"

#include <gtest/gtest.h>

namespace {

using namespace emulator::xray;

const ladder::Shape kRagged = {{"M", 37}, {"N", 131}, {"K", 13}};
const bool bounds = ladder::testing::register_bounds("matmul_wide_loads", "matmul", kRagged) &&
                    ladder::testing::register_bounds("matmul_double_buffer", "matmul", kRagged);

// Rows that are read 16 bytes at a time, and end within a tile.
TEST(MatmulWideLoads, StaysInBoundsInAWideTail) {
  ladder::testing::xray_of("matmul_wide_loads", "matmul", {{"M", 37}, {"N", 132}, {"K", 12}});
}

TEST(MatmulDoubleBuffer, StaysInBoundsInAWideTail) {
  ladder::testing::xray_of("matmul_double_buffer", "matmul", {{"M", 37}, {"N", 132}, {"K", 12}});
}

Kernel step(const char* implementation, std::int64_t K) {
  return ladder::testing::xray_of(implementation, "matmul", {{"M", 128}, {"N", 128}, {"K", K}});
}

// For 64 multiply-adds of a thread four loads of 16 bytes, not sixteen of four.
TEST(MatmulWideLoads, ReadsSharedMemoryOnceForSixteenMultiplyAdds) {
  const Kernel kernel = step("matmul_wide_loads", 16);
  EXPECT_EQ(kernel[kSharedLoadRequests], 128u * 128 * 16 / kWarpSize / 16);
  EXPECT_EQ(kernel[kSharedLoadWavefronts], 2u * 128 * 128 * 16 / kWarpSize / 16);
  EXPECT_EQ(kernel[kSharedLoadBankConflicts], 0u);
  EXPECT_EQ(kernel[kSharedStoreBankConflicts], 0u);
  EXPECT_EQ(kernel[kGlobalLoadRequests], 2u * 128 * 16 / 4 / kWarpSize);
  EXPECT_EQ(kernel[kGlobalStoreRequests], 128u * 128 / 4 / kWarpSize);
  EXPECT_EQ(kernel[kGlobalLoadBytesMoved], kernel[kGlobalLoadBytesAsked]);
  EXPECT_EQ(kernel[kGlobalStoreBytesMoved], kernel[kGlobalStoreBytesAsked]);
  EXPECT_EQ(kernel[kBarriers], 2u * 2);
}

TEST(MatmulDoubleBuffer, HasOneBarrierForEachTile) {
  const Kernel kernel = step("matmul_double_buffer", 16);
  EXPECT_EQ(kernel[kSharedLoadRequests], 128u * 128 * 16 / kWarpSize / 16);
  EXPECT_EQ(kernel[kSharedLoadWavefronts], 2u * 128 * 128 * 16 / kWarpSize / 16);
  EXPECT_EQ(kernel[kSharedLoadBankConflicts], 0u);
  EXPECT_EQ(kernel[kSharedStoreBankConflicts], 0u);
  EXPECT_EQ(kernel[kGlobalLoadRequests], 2u * 128 * 16 / 4 / kWarpSize);
  EXPECT_EQ(kernel[kGlobalStoreRequests], 128u * 128 / 4 / kWarpSize);
  EXPECT_EQ(kernel[kBarriers], 1u + 2);
  EXPECT_EQ(step("matmul_double_buffer", 24)[kBarriers], 1u + 3);
}

// The first warp's global requests and shared ones, in order: the second tiles are fetched before the first are multiplied.
TEST(MatmulDoubleBuffer, FetchesTheNextTilesBeforeItMultiplies) {
  const Kernel kernel = step("matmul_double_buffer", 16);
  std::vector<std::string> order;
  for (const Step& s : kernel.steps) {
    const Access& access = kernel.accesses[s.access];
    if (access.operation != Operation::kLoad) continue;
    const std::string what = access.space == Space::kGlobal ? s.buffer : "shared";
    if (order.empty() || order.back() != what) order.push_back(what);
  }
  EXPECT_EQ(order, (std::vector<std::string>{"a", "b", "a", "b", "shared"}));
}

}  // namespace
