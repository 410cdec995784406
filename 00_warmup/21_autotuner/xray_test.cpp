#include "common/testing/xray.hpp"

#include <gtest/gtest.h>

#include "00_warmup/21_autotuner/autotuner.hpp"
#include "common/testing/tests.hpp"

namespace {

using namespace emulator::xray;
using warmup::TileChoice;

const bool bounds =
    ladder::testing::register_bounds("matmul_tuned", "matmul", {{"M", 37}, {"N", 45}, {"K", 20}});

Kernel xray_of(const TileChoice& wanted, std::int64_t M, std::int64_t N, std::int64_t K) {
  ladder::Implementation one = ladder::find_implementation("matmul_tuned");
  for (const auto& [choice, launch] : warmup::tile_kernels()) {
    if (choice.tile == wanted.tile && choice.side == wanted.side && choice.depth == wanted.depth)
      one.launchers = ladder::launchers<warmup::Matmul>(launch);
  }
  const auto problem =
      ladder::testing::case_of("matmul", {{"M", M}, {"N", N}, {"K", K}}, {}, "fp32", {})->make();
  return ladder::testing::only_one(ladder::testing::sound_kernels(
      ladder::xray(one, *problem, [](const auto&, const auto&, auto) { return std::string(); })));
}

// A single tile with two steps of the depth, for which the count equals the X-ray's.
TEST(matmul_tuned, CountsTheRequestsThatTheXraySees) {
  for (const auto& [choice, launch] : warmup::tile_kernels()) {
    const std::int64_t K = 2 * choice.depth;
    const Kernel kernel = xray_of(choice, choice.tile, choice.tile, K);
    EXPECT_EQ(static_cast<double>(kernel[kSharedLoadRequests]),
              warmup::cycles_by_count(choice, choice.tile, choice.tile, K));
    EXPECT_EQ(kernel[kSharedLoadBankConflicts], 0u) << choice.tile << " " << choice.side;
  }
}

// 128 x 128 elements of C, K = 32.
TEST(matmul_tuned, DepthBuysBarriersAndNothingElseThatIsCounted) {
  const Kernel eight = xray_of({64, 4, 8}, 128, 128, 32),
               sixteen = xray_of({64, 4, 16}, 128, 128, 32);
  EXPECT_EQ(eight[kBarriers], 4u * 2 * 4);
  EXPECT_EQ(sixteen[kBarriers], 4u * 2 * 2);
  EXPECT_EQ(eight[kSharedLoadRequests], sixteen[kSharedLoadRequests]);
  EXPECT_EQ(eight.buffer("a").loads().accesses, sixteen.buffer("a").loads().accesses);
  EXPECT_EQ(eight.buffer("b").loads().accesses, sixteen.buffer("b").loads().accesses);
}

TEST(matmul_tuned, FewerThreadsWithMoreEachBuyRequests) {
  const Kernel many = xray_of({64, 4, 8}, 128, 128, 32), few = xray_of({64, 8, 8}, 128, 128, 32);
  EXPECT_EQ(many[kSharedLoadRequests], 2 * few[kSharedLoadRequests]);
  EXPECT_EQ(many.buffer("a").loads().accesses, few.buffer("a").loads().accesses);
}

TEST(matmul_tuned, LargerTilesBuyReadsOfGlobalMemory) {
  const Kernel small = xray_of({64, 8, 8}, 128, 128, 32),
               large = xray_of({128, 8, 8}, 128, 128, 32);
  EXPECT_EQ(small.buffer("a").loads().accesses, 2 * large.buffer("a").loads().accesses);
  EXPECT_EQ(small.buffer("b").loads().accesses, 2 * large.buffer("b").loads().accesses);
  EXPECT_EQ(small[kSharedLoadRequests], large[kSharedLoadRequests]);
}

}  // namespace
