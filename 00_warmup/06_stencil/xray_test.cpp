#include "common/testing/xray.hpp"

#include <gtest/gtest.h>

namespace {

using namespace emulator::xray;

// Three blocks, the last with 44 elements, and halos of 3 elements.
const ladder::Shape kShape = {{"N", 300}, {"R", 3}};
const bool registered = ladder::testing::register_budget("stencil_shared", "moving_mean",
                                                         {.loads = (300 + 4 * 3) / 300.0,
                                                          .stores = 1,
                                                          .atomics = 0,
                                                          .counts = {{kBarriers, 1, "block", 3}}},
                                                         kShape);
const bool bounds = ladder::testing::register_bounds("stencil_global", "moving_mean", kShape);

Kernel kernel_of(const std::string& implementation, const ladder::Shape& shape) {
  return ladder::testing::xray_of(implementation, "moving_mean", shape);
}

// The README's table has 32 blocks of 4 warps.
constexpr std::uint64_t kN = 4096, kR = 4, kBlocks = kN / 128, kWarps = kN / 32;
const ladder::Shape kReadmeShape = {{"N", kN}, {"R", kR}};

TEST(StencilGlobal, FetchesAnElementForEachOfItsNeighbours) {
  const Kernel kernel = kernel_of("stencil_global", kReadmeShape);
  EXPECT_EQ(kernel[kGlobalLoadRequests], (2 * kR + 1) * kWarps);
  EXPECT_EQ(kernel.buffer("x").loads().accesses, (2 * kR + 1) * kN - kR * (kR + 1));
  EXPECT_EQ(kernel.buffer("x").loads().accesses_per_element.most, 2 * kR + 1);
  EXPECT_EQ(kernel[kBarriers], 0u);
  EXPECT_EQ(kernel[kSharedLoadRequests], 0u);
}

TEST(StencilShared, FetchesAnElementOnceAndOnceMoreAtATilesEdge) {
  const Kernel kernel = kernel_of("stencil_shared", kReadmeShape);
  // Each warp loads its own elements, and each block's first warp also loads the left and the right
  // halo if there is one.
  EXPECT_EQ(kernel[kGlobalLoadRequests], kWarps + 2 * (kBlocks - 1));
  EXPECT_EQ(kernel.buffer("x").loads().accesses, kN + 2 * kR * (kBlocks - 1));
  EXPECT_EQ(kernel.buffer("x").loads().accesses_per_element.most, 2u);
  EXPECT_EQ(kernel[kBarriers], kBlocks);
  EXPECT_EQ(kernel[kSharedLoadRequests], (2 * kR + 1) * kWarps);
  EXPECT_EQ(kernel[kSharedLoadBankConflicts], 0u);
}

}  // namespace
