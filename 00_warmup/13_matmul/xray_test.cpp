#include "common/testing/xray.hpp"

#include <gtest/gtest.h>

namespace {

using namespace emulator::xray;

// K = 12. Each element reads a row of A, a column of B and a bias.
const bool registered = ladder::testing::register_budget(
    "matmul_naive", "matmul", {.loads = 2 * 12 + 1, .stores = 1}, {{"M", 5}, {"N", 7}, {"K", 12}},
    {{"with_bias", "true"}, {"relu", "true"}});

Kernel naive(const ladder::Shape& shape) {
  return ladder::testing::xray_of("matmul_naive", "matmul", shape);
}

TEST(MatmulNaive, FetchesARowForEachColumnAndAColumnForEachRow) {
  const Kernel kernel = naive({{"M", 16}, {"N", 64}, {"K", 24}});
  EXPECT_EQ(kernel.buffer("a").loads().accesses_per_element.least, 64u);
  EXPECT_EQ(kernel.buffer("a").loads().accesses_per_element.most, 64u);
  EXPECT_EQ(kernel.buffer("b").loads().accesses_per_element.least, 16u);
  EXPECT_EQ(kernel.buffer("b").loads().accesses_per_element.most, 16u);
  EXPECT_EQ(kernel.buffer("c").stores().accesses_per_element.most, 1u);
}

// A warp computes 32 neighbours in one row of C from one element of A for all lanes and 32
// neighbours in B.
TEST(MatmulNaive, FillsTheSectorsOfBAndC) {
  const Kernel kernel = naive({{"M", 16}, {"N", 64}, {"K", 24}});
  const std::uint64_t warps = 16 * 64 / kWarpSize;
  EXPECT_EQ(kernel.buffer("a").loads().requests, warps * 24);
  EXPECT_EQ(kernel.buffer("a").loads().sectors, warps * 24);
  EXPECT_EQ(kernel.buffer("b").loads().requests, warps * 24);
  EXPECT_EQ(kernel.buffer("b").loads().sectors, warps * 24 * 4);
  EXPECT_EQ(kernel.buffer("c").stores().sectors, warps * 4);
}

}  // namespace
