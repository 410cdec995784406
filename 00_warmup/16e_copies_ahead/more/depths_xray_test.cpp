#include "common/testing/xray.hpp"

#include <gtest/gtest.h>

namespace {

using namespace emulator::xray;

constexpr std::uint64_t kTile = 128, kDepth = 64, kTiles = 5;

Kernel five_tiles(const char* implementation) {
  return ladder::testing::xray_of(implementation, "matmul",
                                  {{"M", kTile}, {"N", kTile}, {"K", kTiles * kDepth}}, {}, "bf16");
}

// A stage is a tile of A and one of B. The number of copies in flight changes neither the moved
// bytes nor the products.
TEST(MatmulDepths, DoTheSameInMoreMemory) {
  constexpr std::uint64_t kStageBytes = 2 * kTile * kDepth * 2;
  const Kernel before = five_tiles("matmul_copies_ahead");
  EXPECT_EQ(before[kSharedBytes], 3 * kStageBytes);
  std::uint64_t stages = 0;
  for (const char* name :
       {"matmul_one_stage", "matmul_two_stages", "matmul_three_stages", "matmul_four_stages"}) {
    const Kernel kernel = five_tiles(name);
    EXPECT_EQ(kernel[kSharedBytes], ++stages * kStageBytes) << name;
    const std::uint64_t at_once = stages == 1 ? kTiles : 1;  // tiles that nothing is done before
    EXPECT_EQ(kernel[kAsyncCopiesAtOnce], at_once * kernel[kAsyncCopies] / kTiles) << name;
    for (const Counter counter : {kAsyncCopies, kGlobalLoadBytesMoved, kTensorOperations, kBarriers,
                                  kSharedMatrixLoadRequests, kSharedLoadWavefronts})
      EXPECT_EQ(before[counter], kernel[counter]) << name << ": " << info(counter).name;
  }
}

}  // namespace
