#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "common/operators/attention/operator.hpp"
#include "common/testing/xray.hpp"

namespace {

using namespace emulator::xray;

constexpr std::uint64_t kD = 32, kTile = 16;

std::vector<Kernel> kernels_of(std::int64_t T, bool causal) {
  return ladder::testing::xrays_of<ladder::Attention>(
      "attention_three_kernels", {.B = 1, .T_q = T, .T_k = T, .D = kD, .causal = causal});
}

const bool bounds = ladder::testing::register_bounds(
    "attention_three_kernels", "attention",
    {{"B", 1}, {"T", 37}, {"H", 2}, {"K", 64}, {"V", 64}, {"T_q", 21}, {"H_kv", 1}}, {},
    {"fp32", "bf16"});

// The causal mask saves nothing, because masked scores are computed, written and read, too.
TEST(ThreeKernels, WriteEveryScoreTwiceAndReadItAgainAndAgain) {
  for (const std::uint64_t T : {32, 64}) {
    for (const bool causal : {false, true}) {
      const std::vector<Kernel> kernels = kernels_of(static_cast<std::int64_t>(T), causal);
      ASSERT_EQ(kernels.size(), 3u);
      const std::uint64_t scores = T * T;
      const auto accesses = [&](std::size_t kernel, Operation operation) {
        return kernels[kernel]
            .buffer("scores")
            .traffic[static_cast<std::size_t>(operation)]
            .accesses;
      };
      EXPECT_EQ(accesses(0, Operation::kStore), scores);
      EXPECT_EQ(accesses(1, Operation::kLoad), 3 * scores);
      EXPECT_EQ(accesses(1, Operation::kStore), scores);
      EXPECT_EQ(accesses(2, Operation::kLoad), kD / kTile * scores);
    }
  }
}

TEST(ThreeKernels, WriteOutputsOnce) {
  const std::vector<Kernel> kernels = kernels_of(37, true);
  ASSERT_EQ(kernels.size(), 3u);
  EXPECT_EQ(kernels[1].buffer("lse").stores().accesses_per_element.most, 1u);
  EXPECT_EQ(kernels[2].buffer("o").stores().accesses_per_element.most, 1u);
}

}  // namespace
