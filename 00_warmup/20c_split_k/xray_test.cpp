#include "common/testing/xray.hpp"

#include <gtest/gtest.h>

namespace {

using namespace emulator::xray;

// Two rows of two blocks, two splits. An element of c needs 138 words of its column, and 35 parts
// with a scale and a zero point, and each of the two blocks of a row reads all of A. Each split
// then needs an atomic, or a partial sum that is stored and read.
const ladder::Shape kRagged = {{"M", 2}, {"N", 37}, {"K", 1100}, {"GROUP", 32}};
constexpr double kLoads = (2 * 138 * 37 + 2 * 2 * 35 * 37 + 2 * 2 * 1100) / (2 * 37.0);
const bool registered =
    ladder::testing::register_budget("int4_split_atomic", "int4_matmul",
                                     {.loads = kLoads, .stores = 0, .atomics = 2, .host_bytes = 4},
                                     kRagged) &&
    ladder::testing::register_budget("int4_split_second_pass", "int4_matmul",
                                     {.loads = kLoads + 2, .stores = 2 + 1}, kRagged);

constexpr std::uint64_t kN = 64, kK = 2048, kSplits = 2;
const ladder::Shape kShape = {{"M", 1}, {"N", kN}, {"K", kK}, {"GROUP", 128}};

TEST(int4_split_atomic, HasTwiceTheBlocksAndReadsEachWordOnce) {
  const Kernel whole = ladder::testing::xray_of("int4_row", "int4_matmul", kShape);
  const Kernel split = ladder::testing::xray_of("int4_split_atomic", "int4_matmul", kShape);
  EXPECT_EQ(split[kBarriers], kSplits * whole[kBarriers]);  // as many for each block
  for (const Kernel& kernel : {whole, split}) {
    const Traffic& w = kernel.buffer("w").loads();
    EXPECT_EQ(w.accesses_per_element.least, 1u);
    EXPECT_EQ(w.accesses_per_element.most, 1u);
    EXPECT_EQ(w.sectors * kSectorBytes, kN * kK / 2);
  }
  EXPECT_EQ(split.buffer("a").loads().bytes_asked, whole.buffer("a").loads().bytes_asked);
}

TEST(int4_split_atomic, HasAnAtomicForEachSplitAndElement) {
  const Kernel kernel = ladder::testing::xray_of("int4_split_atomic", "int4_matmul", kShape);
  EXPECT_EQ(kernel[kAtomics], kSplits * kN);
  EXPECT_EQ(kernel[kAtomicRequests], kSplits * kN / kWarpSize);
  EXPECT_EQ(kernel[kAtomicCollisions], 0u);
  EXPECT_EQ(kernel[kGlobalStoreRequests], 0u);
}

TEST(int4_split_second_pass, HasNoAtomicAndASecondKernel) {
  const auto kernels = ladder::testing::xrays_of("int4_split_second_pass", "int4_matmul", kShape);
  ASSERT_EQ(kernels.size(), 2u);
  EXPECT_EQ(kernels[0][kAtomics] + kernels[1][kAtomics], 0u);
  EXPECT_EQ(kernels[0][kGlobalStoreRequests], kSplits * kN / kWarpSize);
  EXPECT_EQ(kernels[1][kGlobalLoadRequests], kSplits * kN / kWarpSize);
  EXPECT_EQ(kernels[1][kGlobalStoreRequests], kN / kWarpSize);
}

}  // namespace
