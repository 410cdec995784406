#include "common/testing/xray.hpp"

#include <gtest/gtest.h>

namespace {

using namespace emulator::xray;

// For each batch two tiles of columns and two of rows, so each element of a and of b is loaded
// twice, and the bias once for each element of c. Each of the 3 * 4 blocks has two tiles along K.
const bool registered = ladder::testing::register_budget(
    "batched_matmul_tiles", "batched_matmul",
    {.loads = (2 * 37 * 40 + 2 * 40 * 45) / (37.0 * 45.0) + 1,
     .stores = 1,
     .counts = {{kBarriers, 2, "tile", 3 * 4 * 2}}},
    {{"B", 3}, {"M", 37}, {"N", 45}, {"K", 40}}, {{"with_bias", "true"}, {"gelu", "true"}});

Kernel batched(const ladder::Shape& shape) {
  return ladder::testing::xray_of("batched_matmul_tiles", "batched_matmul", shape);
}

TEST(BatchedMatmulTiles, FetchesBAnewForEachBatch) {
  constexpr std::uint64_t kB = 3, kM = 32, kN = 64, kK = 64, kTile = 32;
  const Kernel kernel = batched({{"B", kB}, {"M", kM}, {"N", kN}, {"K", kK}});
  const Traffic &a = kernel.buffer("a").loads(), &b = kernel.buffer("b").loads();
  EXPECT_EQ(a.accesses_per_element.least, kN / kTile);
  EXPECT_EQ(a.accesses_per_element.most, kN / kTile);
  EXPECT_EQ(b.accesses_per_element.least, kB * kM / kTile);
  EXPECT_EQ(b.accesses_per_element.most, kB * kM / kTile);
  EXPECT_EQ(kernel[kBarriers], 2 * kB * (kM / kTile) * (kN / kTile) * (kK / kTile));
  EXPECT_EQ(kernel[kSharedLoadBankConflicts], 0u);
}

// The same 32 rows in 32 batches of one row, and as one matrix.
TEST(BatchedMatmulTiles, WastesItsTilesWhereABatchHasOneRow) {
  constexpr std::uint64_t kRows = 32, kN = 64, kK = 64;
  const Kernel batches = batched({{"B", kRows}, {"M", 1}, {"N", kN}, {"K", kK}});
  EXPECT_EQ(batches.buffer("b").loads().accesses_per_element.least, kRows);
  EXPECT_EQ(batches[kSharedLoadRequests], kRows * 2 * kRows * kN * kK / kWarpSize);
  const Kernel one = batched({{"B", 1}, {"M", kRows}, {"N", kN}, {"K", kK}});
  EXPECT_EQ(one.buffer("b").loads().accesses_per_element.most, 1u);
  EXPECT_EQ(one[kSharedLoadRequests], 2 * kRows * kN * kK / kWarpSize);
}

}  // namespace
