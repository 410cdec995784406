#include <gtest/gtest.h>

#include "common/operators/linear_attention/operator.hpp"
#include "common/testing/xray.hpp"

namespace {

using namespace emulator::xray;
using ladder::testing::xray_of;

constexpr std::uint64_t kT = 128, kH = 2, kUnits = kT / 16, kStages = kT / 64, kWarps = 4;

Kernel decay_per_head() {
  return xray_of("decay_per_head_chunkwise", "decay_per_head",
                 {{"B", 1}, {"T", kT}, {"H", kH}, {"K", 64}, {"V", 64}}, {}, "bf16");
}
// Lesson 10's kernel on the same shape.
Kernel without_decay() {
  ladder::LinearAttentionCase c =
      ladder::CausalDotProduct::make_case({.B = 1, .T = kT, .H = kH, .K = 64, .V = 64});
  c.precision = ladder::Precision::kBf16;
  return xray_of<ladder::CausalDotProduct>("linear_attention_chunkwise", c);
}

// Three stages, the last with two tokens, so that every buffer is reused.
const ladder::Shape kRagged{{"B", 1}, {"T", 130}, {"H", 2}, {"K", 64}, {"V", 64}};

const bool bounds = ladder::testing::register_bounds("decay_per_head_chunkwise", "decay_per_head",
                                                     kRagged, {}, {"bf16"});

// 16-byte vectors of q, k, v and o, and one log_w per 64 elements.
const bool registered = ladder::testing::register_budget(
    "decay_per_head_chunkwise", "decay_per_head",
    {.loads = 3.0 / 8 + 1.0 / 64,
     .stores = 1.0 / 8,
     .atomics = 0,
     .counts = {{kTensorOperations, 26, "unit of a warp", 2 * 4 * 12},
                {kShuffles, 4, "warp that sums decays", 2 * 3 * 2}}},
    kRagged, {}, {}, "bf16");

// The table of the page.
TEST(DecayPerHead, AsksTensorCoresAndBarriersForNoMoreThanWithoutADecay) {
  const Kernel without = without_decay(), with = decay_per_head();
  for (const Counter counter :
       {kTensorOperations, kSharedMatrixLoadRequests, kBarriers, kGlobalStoreSectors})
    EXPECT_EQ(with[counter], without[counter]) << info(counter).name;
  EXPECT_EQ(with[kTensorOperations], kH * kWarps * kUnits * 26);
  EXPECT_EQ(with[kSharedMatrixLoadRequests], 832u);
  EXPECT_EQ(with[kBarriers], kH * (kStages + 1));
  // A warp reads seven sums of a sub-chunk. Two warps sum the 64 tokens of a stage.
  EXPECT_EQ(without[kSharedLoadRequests], 64u);
  EXPECT_EQ(with[kSharedLoadRequests], 64 + kH * (kWarps * kUnits * 7 + kStages * 2));
  EXPECT_EQ(with[kSharedLoadRequests], 520u);
  EXPECT_EQ(without[kShuffles], 0u);
  EXPECT_EQ(with[kShuffles], kH * kStages * 2 * 4);
}

TEST(DecayPerHead, FetchesEachElementOnceAndConflictsInNoBank) {
  const Kernel kernel = decay_per_head();
  for (const char* name : {"q", "k", "v", "log_w"})
    EXPECT_EQ(kernel.buffer(name).loads().accesses_per_element.most, 1u) << name;
  EXPECT_EQ(kernel.buffer("o").stores().accesses_per_element.most, 1u);
  for (const Access& access : kernel.accesses)
    EXPECT_EQ(access.bank_conflicts, 0u) << access.code;
}

// log_w of a head's tokens are H elements apart. From eight heads on, each is in a different
// sector, so 32 bytes are moved for 4.
TEST(DecayPerHead, MovesASectorForEachDecay) {
  const Kernel kernel = xray_of("decay_per_head_chunkwise", "decay_per_head",
                                {{"B", 1}, {"T", 64}, {"H", 8}, {"K", 64}, {"V", 64}}, {}, "bf16");
  EXPECT_EQ(kernel.buffer("log_w").loads().sectors, 64u * 8);
}

}  // namespace
