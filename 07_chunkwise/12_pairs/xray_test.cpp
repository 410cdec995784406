#include <gtest/gtest.h>

#include "common/operators/wkv/operator.hpp"
#include "common/testing/xray.hpp"

namespace {

using namespace emulator::xray;
using ladder::testing::xray_of;

constexpr std::uint64_t kT = 128, kH = 2, kUnits = kH * kT / 16, kStages = kH * kT / 64, kWarps = 4;

Kernel kernel_of(const std::string& name) {
  return xray_of(name, "wkv", {{"B", 1}, {"T", kT}, {"H", kH}, {"K", 64}, {"V", 64}}, {}, "bf16");
}

// Three stages, the last with two tokens, so that every buffer is reused.
const ladder::Shape kRagged{{"B", 1}, {"T", 130}, {"H", 2}, {"K", 64}, {"V", 64}};

const bool bounds = ladder::testing::register_bounds("wkv_pairs", "wkv", kRagged, {}, {"bf16"});

// 16-byte vectors of q, k, v, log_w and o, and u once per head. All four sub-chunks of a stage are
// prepared, and 130 rows of o are stored by 33 requests.
const bool registered = ladder::testing::register_budget(
    "wkv_pairs", "wkv",
    {.loads = 4.0 / 8 + 1.0 / 130,
     .stores = 1.0 / 8,
     .atomics = 0,
     .counts = {{kTensorOperations, kWarps * 18, "unit of 16 tokens", 2 * 3 * 4},
                {kSharedLoadRequests, 529 + 33.0 / 12, "unit of 16 tokens", 2 * 3 * 4}}},
    kRagged, {}, {}, "bf16");

// The table of the page.
TEST(WkvPairs, LeavesTheScoresToSharedMemoryAndPlainArithmetic) {
  const Kernel kernel = kernel_of("wkv_pairs");
  // Each warp that walks a sub-chunk computes 8 products with the state, 2 with the scores and 8
  // into the state.
  EXPECT_EQ(kernel[kTensorOperations], kUnits * kWarps * 18);
  EXPECT_EQ(kernel[kSharedMatrixLoadRequests], kUnits * kWarps * (4 + 1 + 1 + 4));
  // One before a stage is prepared and one after, and one after the last.
  EXPECT_EQ(kernel[kBarriers], kStages * 2 + kH);
  // The warp that prepares a sub-chunk reads 16 rows of log_w, 13 times for each two channels of
  // the scores, 4 times for each token of q~ and k~, and the last sum. Each warp that walks it
  // reads 8 times for the decays of the state. Each stage adds its outputs.
  EXPECT_EQ(kernel[kSharedLoadRequests],
            kUnits * (16 + 32 * 13 + 16 * 4 + 1 + kWarps * 8) + kStages * 16);
  EXPECT_EQ(kernel[kSharedLoadRequests], 8528u);
  EXPECT_EQ(kernel[kShuffles], 0u);
  EXPECT_EQ(kernel.dynamic_shared_bytes, 95616u);
}

TEST(WkvPairs, FetchesEachElementOnceAndConflictsInNoBank) {
  const Kernel kernel = kernel_of("wkv_pairs");
  for (const char* name : {"q", "k", "v", "log_w", "u"})
    EXPECT_EQ(kernel.buffer(name).loads().accesses_per_element.most, 1u) << name;
  EXPECT_EQ(kernel.buffer("o").stores().accesses_per_element.most, 1u);
  for (const Access& access : kernel.accesses)
    EXPECT_EQ(access.bank_conflicts, 0u) << access.code;
}

}  // namespace
