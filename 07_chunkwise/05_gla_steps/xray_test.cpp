#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "common/operators/wkv/operator.hpp"
#include "common/testing/xray.hpp"

namespace {

using namespace emulator::xray;
using ladder::testing::xrays_of;

// Per element of o on the budget's shape, five steps of 64 key rows, which a chunk's 64 rows hold.
// Loads: log_w; q, k and two sums; v, qg and kg once per key row, and the sums at the chunk's end; in the scores the sums of four
// sub-chunks and three for each of six pairs of them, q, and k once per sub-chunk; o_inter, and up to five scores and rows of v.
// Stores: sums, qg, kg and scores of all 64 rows; o_inter and o.
const bool registered = ladder::testing::register_budget(
    "gla_five_steps", "gla",
    {.loads = 1 + 4 + (3 * 64 + 64 / 5.0) + (22 * 16 / 5.0 + 1 + 4) + (1 + 2 * 3),
     .stores = 4 * 64 / 5.0 + 2,
     .atomics = 0});

enum Step { kDecayCumsum, kPrepareQgKg, kInterChunk, kIntraChunkScores, kCombine, kSteps };

TEST(GlaFiveSteps, IsFiveKernelsWithoutAtomics) {
  const ladder::WkvCase s{.B = 1, .T = 70, .H = 2, .K = 20, .V = 35};
  const std::vector<Kernel> kernels = xrays_of<ladder::Gla>("gla_five_steps", s);
  ASSERT_EQ(kernels.size(), kSteps);
  for (const Kernel& kernel : kernels)
    EXPECT_EQ(kernel[kAtomics], 0u) << kernel.name;
}

TEST(GlaFiveSteps, WritesOutputsOnce) {
  const ladder::WkvCase s{.B = 1, .T = 70, .H = 2, .K = 20, .V = 35};
  const std::vector<Kernel> kernels = xrays_of<ladder::Gla>("gla_five_steps", s);
  ASSERT_EQ(kernels.size(), kSteps);
  const Traffic& stores = kernels[kCombine].buffer("o").stores();
  EXPECT_EQ(stores.accesses_per_element.least, 1u);
  EXPECT_EQ(stores.accesses_per_element.most, 1u);
}

TEST(GlaFiveSteps, ConflictsInNoBank) {
  const ladder::WkvCase s{.B = 1, .T = 70, .H = 1, .K = 64, .V = 64};
  const std::vector<Kernel> kernels = xrays_of<ladder::Gla>("gla_five_steps", s);
  ASSERT_EQ(kernels.size(), kSteps);
  for (const Step step : {kInterChunk, kIntraChunkScores}) {
    EXPECT_GT(kernels[step][kSharedLoadRequests], 0u);
    EXPECT_EQ(kernels[step][kSharedLoadBankConflicts], 0u);
    EXPECT_EQ(kernels[step][kSharedStoreBankConflicts], 0u);
  }
}

// What is left for the summit to do: the state stays on chip, but each of its rows asks for v again.
TEST(GlaFiveSteps, FetchesAnElementOfVOncePerKeyRow) {
  const ladder::WkvCase s{.B = 1, .T = 70, .H = 1, .K = 20, .V = 64};
  const std::vector<Kernel> kernels = xrays_of<ladder::Gla>("gla_five_steps", s);
  ASSERT_EQ(kernels.size(), kSteps);
  const Traffic& loads = kernels[kInterChunk].buffer("v").loads();
  EXPECT_EQ(loads.accesses_per_element.least, static_cast<std::uint64_t>(s.K));
  EXPECT_EQ(loads.accesses_per_element.most, static_cast<std::uint64_t>(s.K));
}

}  // namespace
