#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "07_chunkwise/in_place.hpp"
#include "common/operators/wkv/operator.hpp"
#include "common/testing/xray.hpp"

namespace {

using namespace emulator::xray;
using ladder::testing::xray_of;
using ladder::testing::xrays_of;

// One head of eight stages, four segments of two.
constexpr std::uint64_t kStages = 8, kSegments = 4, kWarps = 4, kNumbers = 64 * 64;
const ladder::Shape kShape{{"B", 1}, {"T", kStages * 64}, {"H", 1}, {"K", 64}, {"V", 64}};

// Two segments, the second of a single token.
constexpr std::int64_t kT = 129, kH = 2;
const ladder::Shape kRagged{{"B", 1}, {"T", kT}, {"H", kH}, {"K", 64}, {"V", 64}};
const ladder::Options kBothStates{{"initial_state", "true"}, {"final_state", "true"}};

const bool bounds =
    ladder::testing::register_bounds("wkv_segments", "wkv", kRagged, kBothStates, {"bf16"});

// Each of two walks loads 16-byte vectors of q, k, v and log_w, and u once per block. The scan
// loads the states and as many decays, and the second walk loads the states. The first walk stores
// states and decays, the scan the states, the second walk o.
constexpr double kStates = 2 * 64.0 / kT;  // numbers of two segments, for each element of o
const bool registered = ladder::testing::register_budget(
    "wkv_segments", "wkv",
    {.loads = 2 * (4.0 / 8 + 2.0 / kT) + 3 * kStates,
     .stores = 1.0 / 8 + 2 * kStates + 2.0 / kT,
     .atomics = 0,
     .counts = {{kTensorOperations, 2.0 * (kWarps * 18 + 40), "unit of 16 tokens", kH * 12}},
     .uses_places_once = true},  // a segment of such a short case has two stages
    kRagged, {}, {}, "bf16");

// The table of the page.
TEST(WkvSegments, HasABlockForEachSegmentAndComputesAllTwice) {
  const Kernel tree = xray_of("wkv_tree", "wkv", kShape, {}, "bf16");
  const std::vector<Kernel> kernels = xrays_of("wkv_segments", "wkv", kShape, {}, "bf16");
  ASSERT_EQ(kernels.size(), 2u);
  const Kernel &walk = kernels[0], &scan = kernels[1];
  EXPECT_EQ(walk.launches, 2u);
  EXPECT_EQ(scan.launches, 1u);
  EXPECT_EQ(tree.grid.x * tree.grid.y, 1u);
  EXPECT_EQ(walk.grid.x * walk.grid.y, kSegments);
  EXPECT_EQ(scan.grid.x * scan.grid.y, 32u);
  // Two for each stage and one after the last.
  EXPECT_EQ(tree[kBarriers], 2 * kStages + 1);
  EXPECT_EQ(walk[kBarriers], 2 * kSegments * (2 * kStages / kSegments + 1));
  EXPECT_EQ(walk[kTensorOperations], 2 * tree[kTensorOperations]);
  for (const char* name : {"q", "k", "v", "log_w"})
    EXPECT_EQ(walk.buffer(name).loads().accesses_per_element.least, 2u) << name;
  EXPECT_EQ(walk.buffer("o").stores().accesses_per_element.most, 1u);
  // 32 neighbouring numbers of a state, which a warp stores, are four sectors.
  EXPECT_EQ(scan[kGlobalStoreSectors], 4 * scan[kGlobalStoreRequests]);
  // The states in the workspace are stored twice, and loaded twice.
  EXPECT_EQ(walk.buffer("states").elements * sizeof(float), 65536u);
  EXPECT_EQ(walk.buffer("decays").elements * sizeof(float), 1024u);
  for (const Kernel& kernel : kernels) {
    EXPECT_EQ(kernel.buffer("states").stores().accesses, kSegments * kNumbers);
    EXPECT_EQ(kernel.buffer("states").loads().accesses, kSegments * kNumbers);
    for (const Access& access : kernel.accesses)
      EXPECT_EQ(access.bank_conflicts, 0u) << access.code;
  }
}

// If a block read the state that another block writes, there would be a race.
TEST(WkvSegments, UpdatesTheStateInPlaceWithoutARace) {
  if (ladder::testing::device_is_missing({.device = ladder::DeviceKind::kCuda})) return;
  ladder::WkvCase c{.B = 1, .T = kT, .H = 1, .initial_state = true, .final_state = true};
  c.precision = ladder::Precision::kBf16;
  take();
  chunkwise::run_in_place<ladder::WkvBf16Args>(ladder::find_implementation("wkv_segments"),
                                               ladder::make_problem(c));
  const std::vector<Kernel> kernels = take();
  ASSERT_EQ(kernels.size(), 2u);
  for (const Kernel& kernel : kernels) {
    for (const auto& error : kernel.errors)
      ADD_FAILURE() << error.message;
  }
}

}  // namespace
