#include "common/testing/xray.hpp"

#include <gtest/gtest.h>

namespace {

using namespace emulator::xray;
using ladder::testing::register_budget;

// Softmax reads x three times, and each lane the row's first element once more. RMSNorm reads x
// twice, and the weight.
const ladder::Shape kRagged = {{"M", 5}, {"N", 70}};
const ladder::Shape kVectors = {{"M", 5}, {"N", 100}};
const bool registered =
    register_budget("softmax_rows", "softmax", {.loads = 0.25, .stores = 0.25, .atomics = 0},
                    kVectors) &&
    register_budget("rms_norm_rows", "rms_norm", {.loads = 0.5, .stores = 0.25, .atomics = 0},
                    kVectors) &&
    register_budget("softmax_warp", "softmax", {.loads = 3 + 32 / 70.0, .stores = 1, .atomics = 0},
                    kRagged) &&
    register_budget("rms_norm_warp", "rms_norm", {.loads = 3, .stores = 1, .atomics = 0}, kRagged);
const bool bounds = ladder::testing::register_bounds("softmax_rows", "softmax", kVectors) &&
                    ladder::testing::register_bounds("rms_norm_rows", "rms_norm", kVectors);

Kernel xray_of(const char* op, const char* name, std::int64_t N) {
  return ladder::testing::xray_of(name, op, {{"M", 8}, {"N", N}});
}

// 8 rows of 256 elements are 64 requests of 4 bytes per lane for all of x.
TEST(softmax_warp, ReadsARowThreeTimesAndExchangesItTwice) {
  const Kernel kernel = xray_of("softmax", "softmax_warp", 256);
  EXPECT_EQ(kernel[kGlobalLoadRequests], 3u * 64 + 8);
  EXPECT_EQ(kernel[kGlobalStoreRequests], 64u);
  EXPECT_EQ(kernel[kShuffles], 8u * 2 * 5);
  EXPECT_EQ(kernel[kBarriers], 0u);
}

TEST(softmax_rows, ReadsAWarpsRowOnceAndHasNoBarrier) {
  const Kernel kernel = xray_of("softmax", "softmax_rows", 256);
  EXPECT_EQ(kernel[kGlobalLoadRequests], 64u / 4);
  EXPECT_EQ(kernel[kGlobalStoreRequests], 64u / 4);
  EXPECT_EQ(kernel[kShuffles], 8u * 2 * 5);
  EXPECT_EQ(kernel[kBarriers], 0u);
}

// 2048 elements, although 8 vectors for each of 256 threads would be 8192.
TEST(softmax_rows, ReadsABlocksRowOnceWithTwoBarriers) {
  const Kernel kernel = xray_of("softmax", "softmax_rows", 2048);
  EXPECT_EQ(kernel[kGlobalLoadRequests], 8u * 2048 / 128);
  EXPECT_EQ(kernel[kBarriers], 8u * 2);
  EXPECT_EQ(kernel[kSharedLoadBankConflicts], 0u);
}

TEST(rms_norm_warp, ReadsARowTwice) {
  const Kernel kernel = xray_of("rms_norm", "rms_norm_warp", 256);
  EXPECT_EQ(kernel.buffer("x").loads().requests, 2u * 64);
  EXPECT_EQ(kernel.buffer("weight").loads().requests, 64u);
  EXPECT_EQ(kernel[kGlobalStoreRequests], 64u);
  EXPECT_EQ(kernel[kBarriers], 0u);
  EXPECT_EQ(kernel[kShuffles], 8u * 5);
}

// ./ladder exercise shows this output.
TEST(SectorsOfRmsNormWarp, KeepsItsBudget) {
  ladder::testing::expect_within_budget(xray_of("rms_norm", "rms_norm_warp", 256),
                                        kGlobalLoadSectors, kGlobalLoadRequests, 4,
                                        "sectors per load request used, rms_norm_warp");
}

TEST(BarriersOfSoftmaxRows, KeepsItsBudget) {
  ladder::testing::expect_within_budget(
      static_cast<double>(xray_of("softmax", "softmax_rows", 2048)[kBarriers]) / 8, 2,
      "barriers used, per row that a block has, softmax_rows");
}

TEST(rms_norm_rows, ReadsARowOnce) {
  const Kernel kernel = xray_of("rms_norm", "rms_norm_rows", 256);
  EXPECT_EQ(kernel.buffer("x").loads().requests, 64u / 4);
  EXPECT_EQ(kernel.buffer("x").loads().accesses_per_element.most, 1u);
  EXPECT_EQ(kernel.buffer("weight").loads().requests, 64u / 4);
  EXPECT_EQ(kernel[kGlobalStoreRequests], 64u / 4);
  EXPECT_EQ(kernel[kShuffles], 8u * 5);
  EXPECT_EQ(kernel[kBarriers], 0u);
}

}  // namespace
