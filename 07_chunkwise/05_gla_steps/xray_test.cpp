#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "07_chunkwise/05_gla_steps/gla_steps_operator.hpp"
#include "common/operators/wkv/operator.hpp"
#include "common/testing/xray.hpp"

namespace {

using namespace emulator::xray;
using ladder::testing::xrays_of;

const bool bounds =
    ladder::testing::register_bounds("gla_five_steps", "gla", ladder::testing::kRaggedShape,
                                     {{"initial_state", "true"}, {"final_state", "true"}});

// Per element of o on the budget's shape, five steps of 64 key rows, which fit in the 64 rows of
// one chunk. The first two steps load log_w, then q, k and two sums. The third loads v, qg and kg
// once per key row, and the sums at the chunk's end. The scores need the sums of four sub-chunks,
// three sums for each of six pairs of them, q, and k once per sub-chunk. The last step loads
// o_inter, and up to five scores and rows of v. Stored are the sums, qg, kg and scores of all 64
// rows, o_inter and o.
const bool registered = ladder::testing::register_budget(
    "gla_five_steps", "gla",
    {.loads = 1 + 4 + (3 * 64 + 64 / 5.0) + (22 * 16 / 5.0 + 1 + 4) + (1 + 2 * 3),
     .stores = 4 * 64 / 5.0 + 2,
     .atomics = 0});

// The steps alone, on one chunk of 64 steps with 64 key rows and 64 columns.
const ladder::Shape kOneChunk = {{"B", 1},  {"T", 64}, {"H", 2},
                                 {"K", 64}, {"V", 64}, {"chunk", 64}};
bool register_step(const char* step, const ladder::testing::Budget& budget) {
  return ladder::testing::register_budget(step, step, budget, kOneChunk);
}
const bool steps_registered =
    register_step("gla_decay_cumsum", {.loads = 1, .stores = 1, .atomics = 0}) &&
    // q, k, the step's sum and the chunk's last
    register_step("gla_prepare_qg_kg", {.loads = 4, .stores = 2, .atomics = 0}) &&
    // qg, kg and v once per key row, the initial state, and the sums at the chunk's end
    register_step("gla_inter_chunk", {.loads = 3 * 64 + 2, .stores = 2, .atomics = 0}) &&
    // q, k and a sum in four sub-chunks, and q, k and three sums in six pairs of them
    register_step("gla_intra_chunk_scores",
                  {.loads = (4 * 3 + 6 * 5) * 16 / 64.0, .stores = 1, .atomics = 0}) &&
    // o_inter, and 1 to 64 scores and rows of v
    register_step("gla_combine", {.loads = 1 + 2 * 32.5, .stores = 1, .atomics = 0});

using namespace chunkwise::gla_steps;
using ladder::testing::xray_of;

TEST(GlaFiveSteps, IsFiveKernelsWithoutAtomics) {
  const ladder::WkvCase s{.B = 1, .T = 70, .H = 2, .K = 20, .V = 35};
  const std::vector<Kernel> kernels = xrays_of<ladder::Gla>("gla_five_steps", s);
  ASSERT_EQ(kernels.size(), 5u);
  for (const Kernel& kernel : kernels)
    EXPECT_EQ(kernel[kAtomics], 0u) << kernel.name;
}

TEST(GlaFiveSteps, WritesOutputsOnce) {
  const Kernel kernel =
      xray_of<Combine>("gla_combine", {{.B = 1, .T = 70, .H = 2, .K = 20, .V = 35, .chunk = 64}});
  const Traffic& stores = kernel.buffer("o").stores();
  EXPECT_EQ(stores.accesses_per_element.least, 1u);
  EXPECT_EQ(stores.accesses_per_element.most, 1u);
}

TEST(GlaFiveSteps, ConflictsInNoBank) {
  const StepCase c{{.B = 1, .T = 70, .H = 1, .K = 64, .V = 64}};
  for (const Kernel& kernel : {xray_of<InterChunk>("gla_inter_chunk", c),
                               xray_of<IntraChunkScores>("gla_intra_chunk_scores", c)}) {
    EXPECT_GT(kernel[kSharedLoadRequests], 0u);
    EXPECT_EQ(kernel[kSharedLoadBankConflicts], 0u);
    EXPECT_EQ(kernel[kSharedStoreBankConflicts], 0u);
  }
}

// The chapter's fastest kernel improves on this. The state stays on chip here too, but v is loaded
// again for each of its rows.
TEST(GlaFiveSteps, FetchesAnElementOfVOncePerKeyRow) {
  const StepCase c{{.B = 1, .T = 70, .H = 1, .K = 20, .V = 64}};
  const Kernel kernel = xray_of<InterChunk>("gla_inter_chunk", c);
  const Traffic& loads = kernel.buffer("v").loads();
  EXPECT_EQ(loads.accesses_per_element.least, static_cast<std::uint64_t>(c.K));
  EXPECT_EQ(loads.accesses_per_element.most, static_cast<std::uint64_t>(c.K));
}

}  // namespace
