#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "common/testing/xray.hpp"

namespace {

using namespace emulator::xray;
using ladder::testing::xrays_of;

enum Step { kDecayCumsum, kPrepareQgKg, kInterChunk, kIntraChunkScores, kCombine, kSteps };

TEST(GlaFiveSteps, IsFiveKernelsWithoutAtomics) {
  const ladder::bench::Shape s{.B = 1, .T = 70, .H = 2, .K = 20, .V = 35};
  const std::vector<Kernel> kernels = xrays_of("gla_five_steps", {.op = "gla", .shape = s});
  ASSERT_EQ(kernels.size(), kSteps);
  for (const Kernel& kernel : kernels)
    EXPECT_EQ(kernel[kAtomics], 0u) << kernel.name;
}

TEST(GlaFiveSteps, WritesOutputsOnce) {
  const ladder::bench::Shape s{.B = 1, .T = 70, .H = 2, .K = 20, .V = 35};
  const std::vector<Kernel> kernels = xrays_of("gla_five_steps", {.op = "gla", .shape = s});
  ASSERT_EQ(kernels.size(), kSteps);
  const Traffic& stores = kernels[kCombine].buffer("o").stores();
  EXPECT_EQ(stores.accesses_per_element.least, 1u);
  EXPECT_EQ(stores.accesses_per_element.most, 1u);
}

}  // namespace
