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
    "attention_backward_wgmma", "attention_backward",
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
// There is one barrier, then two for each step, and one in each block of `finish`.
const bool registered = ladder::testing::register_budget(
    "attention_backward_wgmma", "attention_backward",
    {.loads = 3.0 / 8 + 1.0 / 4,
     .stores = 1.0 / 8 + 2 * 100.0 / 256 / 8 + 2.0 / 128,
     .atomics = 1,
     .host_bytes = 4,
     .counts = {{kBulkCopies, 4 + 4 * 5, "block", 1},
                {kTensorOperations, 2 * 4 * 32, "block", 1},
                {kSharedMatrixLoadRequests, 0, "launch", 1},
                {kBarriers, 1 + 4 * 2 + 4, "launch", 1}}},
    {{"B", 1}, {"T", 100}, {"H", 2}, {"K", 128}, {"V", 128}, {"T_q", 128}, {"H_kv", 1}}, {}, {},
    "bf16");

TEST(AttentionBackwardWgmma, LoadsNoFragments) {
  const Kernel before = gradients("attention_backward");
  const Kernel after = gradients("attention_backward_wgmma");
  EXPECT_EQ(before[kSharedMatrixLoadRequests], 2048u);
  EXPECT_EQ(after[kSharedMatrixLoadRequests], 0u);
  // For a warpgroup and step, in bytes, k, q, v and d_o, then d_o and q once more as second
  // factors, then dS, and half of k.
  constexpr std::uint64_t kTile = 64 * 128 * 2, kDs = 128 * 64 * 2;
  EXPECT_EQ(after[kProductBytes], kSteps * kGroups * (6 * kTile + kDs + kTile));
  EXPECT_EQ(before[kTensorMultiplyAdds], after[kTensorMultiplyAdds]);
  // A tile of keys holds 128 of them, instead of 64.
  EXPECT_EQ(before[kAtomics], 2u * 128 * 128);
  EXPECT_EQ(after[kAtomics], 1u * 128 * 128);
}

// Each of four warps waits five times in a step, and the step uses two barriers.
TEST(AttentionBackwardWgmma, WaitsForEachProduct) {
  const Kernel after = gradients("attention_backward_wgmma");
  EXPECT_EQ(after[kProductWaits], kSteps * kGroups * 4 * 5);
  EXPECT_EQ(after[kBarriers], 1 + kSteps * 2);
}

}  // namespace
