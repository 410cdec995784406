#include "common/testing/xray.hpp"

#include <gtest/gtest.h>

namespace {

using namespace emulator::xray;

// Two tiles of columns and two of rows, so each element of A and of B is loaded twice. Zeros past
// an edge are not read.
const bool registered = ladder::testing::register_budget(
    "matmul_fragments", "matmul",
    {.loads = (2 * 21 * 27 + 2 * 27 * 13) / (21.0 * 13.0), .stores = 1},
    {{"M", 21}, {"N", 13}, {"K", 27}}, {}, {}, "bf16");

// One instruction does 16 x 8 x 16 FMAs.
TEST(MatmulFragments, MultipliesWithOneInstructionFor16By8By16) {
  constexpr std::uint64_t kM = 32, kN = 24, kK = 48;
  const Kernel kernel = ladder::testing::xray_of("matmul_fragments", "matmul",
                                                 {{"M", kM}, {"N", kN}, {"K", kK}}, {}, "bf16");
  constexpr std::uint64_t kProducts = kM / 16 * (kN / 8) * (kK / 16);
  EXPECT_EQ(kernel[kTensorOperations], kProducts);
  EXPECT_EQ(kernel[kTensorMultiplyAdds], kM * kN * kK);
  EXPECT_EQ(kernel.buffer("a").loads().accesses_per_element.most, kN / 8);
  EXPECT_EQ(kernel.buffer("b").loads().accesses_per_element.most, kM / 16);
  // Eight elements of A and four of B for each lane, each a request of the warp.
  EXPECT_EQ(kernel[kGlobalLoadRequests], kProducts * (8 + 4));
  // A request touches eight rows of A, or four of B.
  EXPECT_EQ(kernel.buffer("a").loads().sectors, kProducts * 8 * 8);
  EXPECT_EQ(kernel.buffer("b").loads().sectors, kProducts * 4 * 4);
  EXPECT_EQ(kernel[kBarriers], 0u);

  const Kernel before = ladder::testing::xray_of("matmul_register_blocks", "matmul",
                                                 {{"M", kM}, {"N", kN}, {"K", kK}});
  EXPECT_EQ(before[kTensorOperations], 0u);
  EXPECT_EQ(before.buffer("a").loads().accesses_per_element.most, 1u);
  EXPECT_EQ(before.buffer("b").loads().accesses_per_element.most, 1u);
  EXPECT_EQ(kernel[kSharedLoadRequests], 0u);
}

}  // namespace
