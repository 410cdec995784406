#include <gtest/gtest.h>

#include <cstdint>
#include <string>

#include "common/operators/attention/operator.hpp"
#include "common/testing/xray.hpp"

namespace {

using namespace emulator::xray;
using ladder::testing::xrays_of;

// The kernel that multiplies, for 128 queries and keys of a head.
Kernel gradients(const std::string& implementation) {
  for (const Kernel& kernel : xrays_of<ladder::AttentionBackward>(
           implementation,
           {.T_q = 128, .T_k = 128, .D = 128, .precision = ladder::Precision::kBf16}))
    if (kernel[kTensorOperations] > 0) return kernel;
  ADD_FAILURE() << implementation << " has no kernel that multiplies";
  return {};
}

constexpr std::uint64_t kSteps = 2,
                        kGroups = 2;  // of the block, steps of 64 queries and warpgroups

const bool bounds = ladder::testing::register_bounds(
    "attention_backward_overlap", "attention_backward",
    {{"B", 1}, {"T", 37}, {"H", 2}, {"K", 128}, {"V", 128}, {"T_q", 70}, {"H_kv", 1}}, {},
    {"bf16"});

// Four steps of a block, for two tiles of queries of two heads. For each element of dq, of which
// there are 128 * 2 * 128, the loads and stores are
// - o, d_o and dq eight at a time, the sums of dq four at a time, and lse by 16 lanes for a row,
// - dk and dv eight at a time, and lse and delta of a row,
// - four bytes of dq's sums, cleared before.
// Copies are two panels of k and of v, and in a step two of q, two of d_o, and one with lse and
// delta. In a step a warpgroup issues 8 products each for S and dP, 4 each for dv and dk, and 8 for
// dq.
// Each warpgroup needs one product for dq more, because there is one in the first step, and one
// after the last.
// The waits that leave no product in flight are for dP in each step, and one at the end.
// There is one barrier, and one in each block of `finish`.
const bool registered = ladder::testing::register_budget(
    "attention_backward_overlap", "attention_backward",
    {.loads = 3.0 / 8 + 1.0 / 4,
     .stores = 1.0 / 8 + 2 * 100.0 / 256 / 8 + 2.0 / 128,
     .atomics = 1,
     .host_bytes = 4,
     .counts = {{kBulkCopies, 4 + 4 * 5, "block", 1},
                {kTensorOperations, 2 * (4 * 32 + 8), "block", 1},
                {kProductWaitsForAll, 4 + 1, "warp", 2 * 4},
                {kSharedMatrixLoadRequests, 0, "launch", 1},
                {kBarriers, 1 + 4, "launch", 1}}},
    {{"B", 1}, {"T", 100}, {"H", 2}, {"K", 128}, {"V", 128}, {"T_q", 128}, {"H_kv", 1}}, {}, {},
    "bf16");

TEST(AttentionBackwardOverlap, MeetsInNoStepAndWaitsLess) {
  const Kernel before = gradients("attention_backward_producer");
  const Kernel after = gradients("attention_backward_overlap");
  // The earlier kernel uses two in each step. The remaining ones are before the steps and after
  // them.
  EXPECT_EQ(before[kNamedBarriers], kGroups * 4 * (kSteps * 2 + 2));
  EXPECT_EQ(after[kNamedBarriers], kGroups * 4 * 4u);
  // The waits are for dk, S, dP and dq, instead of one for each product, and one after the steps.
  EXPECT_EQ(before[kProductWaits], kGroups * 4 * kSteps * 5);
  EXPECT_EQ(after[kProductWaits], kGroups * 4 * (kSteps * 4 + 1));
  // For dP, and after the steps.
  EXPECT_EQ(after[kProductWaitsForAll], kGroups * 4 * (kSteps + 1));
  // The product for dq comes a step late, so there is one more than there are steps.
  EXPECT_EQ(after[kTensorMultiplyAdds] - before[kTensorMultiplyAdds], 64u * 128 * 128);
  for (const Counter counter : {kBulkCopies, kBulkCopyBytes, kGlobalStoreBytesMoved, kAtomics,
                                kBarriers, kSharedStoreBankConflicts, kSharedLoadBankConflicts})
    EXPECT_EQ(before[counter], after[counter]) << info(counter).name;
  EXPECT_EQ(after[kSharedBytes] - before[kSharedBytes], 128u * 64 * 2) << "a second place for dS";
}

}  // namespace
