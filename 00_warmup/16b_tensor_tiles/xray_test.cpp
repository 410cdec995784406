#include "common/testing/xray.hpp"

#include <gtest/gtest.h>

namespace {

using namespace emulator::xray;

// One block loads each element once, one at a time, because rows of 70 elements do not begin at
// multiples of 16 bytes.
const bool registered = ladder::testing::register_budget(
    "matmul_tensor_tiles", "matmul", {.loads = (75 * 70 + 70 * 70) / (75.0 * 70.0), .stores = 1},
    {{"M", 75}, {"N", 70}, {"K", 70}}, {}, {}, "bf16");

constexpr std::uint64_t kTile = 128, kDepth = 64, kWarps = 4;
constexpr std::uint64_t kSteps =
    kWarps * kDepth / 16;  // in each a warp makes 64 x 64 x 16 products

Kernel one_tile() {
  return ladder::testing::xray_of("matmul_tensor_tiles", "matmul",
                                  {{"M", kTile}, {"N", kTile}, {"K", kDepth}}, {}, "bf16");
}

TEST(LoadsFromSharedMemory, KeepsItsBudget) {
  const double each = static_cast<double>(one_tile()[kSharedLoadRequests]) / kSteps;
  ladder::testing::expect_within_budget(each, 48, "loads from shared memory used, per 32 products");
}

TEST(MatmulTensorTiles, FetchesEachElementOnce) {
  const Kernel kernel = one_tile();
  EXPECT_EQ(kernel.buffer("a").loads().accesses_per_element.most, 1u);
  EXPECT_EQ(kernel.buffer("b").loads().accesses_per_element.most, 1u);
  EXPECT_EQ(kernel[kGlobalLoadRequests], 2 * kTile * kDepth / 8 / kWarpSize);
  EXPECT_EQ(kernel[kTensorOperations], kTile * kTile * kDepth / (16 * 8 * 16));
  EXPECT_EQ(kernel[kTensorOperations], kSteps * 32);
  EXPECT_EQ(kernel[kBarriers], 2u);
  EXPECT_EQ(kernel[kSharedStoreBankConflicts], 0u);
}

// A needs 16 loads of four bytes, of eight rows that begin in the same bank. B needs 32 loads of
// two bytes, of four such rows.
TEST(MatmulTensorTiles, LoadsFragmentsWithBankConflicts) {
  const Kernel kernel = one_tile();
  EXPECT_EQ(kernel[kSharedLoadRequests], kSteps * (16 + 32));
  EXPECT_EQ(kernel[kSharedLoadWavefronts], kSteps * (16 * 8 + 32 * 4));
  EXPECT_EQ(kernel[kSharedLoadBankConflicts], kSteps * (16 * 7 + 32 * 3));
  EXPECT_EQ(kernel[kSharedMatrixLoadRequests], 0u);
}

// Rows of 61 elements do not begin at multiples of 16 bytes.
TEST(MatmulTensorTiles, FetchesAnElementAtATimeWhereRowsAreNotAligned) {
  const Kernel kernel = ladder::testing::xray_of(
      "matmul_tensor_tiles", "matmul", {{"M", kTile}, {"N", kTile}, {"K", 61}}, {}, "bf16");
  EXPECT_EQ(kernel.buffer("a").loads().accesses, kTile * 61);
  EXPECT_EQ(kernel.buffer("b").loads().accesses, kTile * 61);
}

}  // namespace
